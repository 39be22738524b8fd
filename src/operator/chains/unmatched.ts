import {
  type AdminArguments,
  type AdminCommands,
  json,
  optionalMode,
  optionalText,
  refused,
  requiredText,
} from '../server/commands.ts';
import { limitOf, MAX_INDEX, optionalWhole } from '../server/whole-number.ts';
import type { AdminRoute } from '../server/http-server.ts';
import type { UnmatchedTransfer } from '../../domain/events/transfer-events.ts';
import { MODES, parseSessionId } from '../../domain/values/ids.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import type { FoundTransfer, Inbox, InboxOutcome } from '../../features/unmatched/unmatched.ts';
import type { InboxFilter, InboxList, ListedTransfer } from '../../features/unmatched/list.ts';
import type { NamedTransfer } from './record-transfer.ts';
import { nameInTerms } from '../server/acts.ts';
import { networkOf, optionalCoin, optionalNetwork } from '../treasury/arguments.ts';

export interface InboxCommandParts {
  readonly inbox: Inbox;
  readonly list: InboxList;
  readonly unmatchedTransferOf: (named: NamedTransfer) => Promise<UnmatchedTransfer>;
  readonly servedRows: ServedRows;
  readonly clock: Clock;
}

const DAY_SEC = 86_400;
const MAX_WORDS = 500;

/** The operator's inbox over HTTP; each path runs the command of the same name. */
export const INBOX_ROUTES: readonly AdminRoute[] = [
  {
    ...{ method: 'GET', path: '/admin/inbox', command: 'inbox.list' },
    query: ['state', 'mode', 'network', 'coin', 'older_than', 'limit', 'cursor'],
  },
  { method: 'POST', path: '/admin/inbox', command: 'inbox.record', query: [] },
  { method: 'GET', path: '/admin/inbox/{transfer}', command: 'inbox.show', query: [] },
  { method: 'POST', path: '/admin/inbox/{transfer}/attach', command: 'inbox.attach', query: [] },
  { method: 'POST', path: '/admin/inbox/{transfer}/return', command: 'inbox.return', query: [] },
  { method: 'POST', path: '/admin/inbox/{transfer}/undo', command: 'inbox.undo', query: [] },
];

/** `quittance inbox ...`, and the same under `/admin/inbox`. */
export function inboxCommands(parts: InboxCommandParts): AdminCommands {
  const { inbox, list, servedRows } = parts;
  return {
    'inbox.list': async (args) => {
      await servedRows();
      const { transfers, next } = await list.page(filterOf(args, parts.clock), cursorOf(args), limitOf(args));
      return json({
        transfers: transfers.map((transfer) => present(transfer, parts.clock)),
        next_cursor: next && encoded(next),
      });
    },
    'inbox.show': async (args) => {
      const { listed, found } = await findIn(parts, args);
      return json(presentFound(found, listed, parts.clock));
    },
    'inbox.attach': async (args) => {
      const { found } = await findIn(parts, args);
      const sessionId = parseSessionId(requiredText(args, 'session')) ?? refused('session is not a session id');
      return answer(found, await inbox.attach(found, sessionId, orderOf(args)), args);
    },
    'inbox.return': async (args) => {
      const { found } = await findIn(parts, args);
      const acknowledgedSender = flag(args, 'acknowledgeSender', 'acknowledge_sender');
      return answer(found, await inbox.giveBack(found, { ...orderOf(args), acknowledgedSender }), args);
    },
    'inbox.undo': async (args) => {
      const { found } = await findIn(parts, args);
      return answer(found, await inbox.undo(found, orderOf(args)), args);
    },
    'inbox.record': async (args) => {
      const order = orderOf(args);
      const transfer = await parts.unmatchedTransferOf(namedOf(args));
      return answer({ transfer, state: null }, await inbox.record(transfer, order), args);
    },
  };
}

/** Finds the transfer by its id, whatever its state. Throws `CommandRefused`. */
async function findIn(
  { inbox, list, servedRows }: InboxCommandParts,
  args: AdminArguments,
): Promise<{ listed: ListedTransfer | null; found: FoundTransfer }> {
  const id = requiredText(args, 'transfer');
  if (!/^[a-z]+:[0-9A-Za-z]{1,128}:\d{1,9}$/.test(id))
    return refused('transfer is not the id of a transfer, such as ethereum:0x...:7');
  await servedRows();
  const listed = await list.find(id);
  for (const mode of listed ? [listed.mode] : MODES) {
    const found = await inbox.find(mode, id, listed && listed.sessionId);
    if (found) return { listed, found };
  }
  return refused(
    'no such transfer in the inbox: it excludes money that pays its order, dust, and deposits named by a refund',
  );
}

const orderOf = (args: AdminArguments) => ({
  by: { actor: nameInTerms(wordsOf(args, 'actor'), 'actor'), reason: wordsOf(args, 'reason') },
  dryRun: flag(args, 'dryRun', 'dry_run'),
});

function wordsOf(args: AdminArguments, name: string): string {
  const text = requiredText(args, name).trim();
  return text !== '' && text.length <= MAX_WORDS ? text : refused(`${name} must be 1 to ${MAX_WORDS} characters`);
}

const flag = (args: AdminArguments, ...names: string[]): boolean => names.some((name) => args[name] === true);

function filterOf(args: AdminArguments, clock: Clock): InboxFilter {
  const state = optionalText(args, 'state') ?? 'unresolved';
  const mode = optionalMode(args);
  const network = optionalNetwork(args);
  const coin = optionalCoin(args);
  const days = optionalWhole(args, 'olderThan', { shown: 'older-than' });
  if (state !== 'unresolved' && state !== 'resolved') return refused('state must be unresolved or resolved');
  const untilSec = days === undefined ? undefined : toSec(clock.nowMs()) - days * DAY_SEC;
  return {
    state,
    ...(mode && { mode }),
    ...(network && { network }),
    ...(coin && { coin }),
    ...(untilSec !== undefined && { untilSec }),
  };
}

function namedOf(args: AdminArguments): NamedTransfer {
  const mode = optionalMode(args);
  const network = networkOf(requiredText(args, 'network'));
  const txHash = requiredText(args, 'tx');
  const logIndex = optionalWhole(args, 'logIndex', { shown: 'log-index' }) ?? optionalWhole(args, 'log_index');
  if (logIndex === undefined) return refused('log-index is missing');
  return {
    mode,
    network,
    txHash: txHash.startsWith('0x') ? txHash.toLowerCase() : txHash,
    logIndex,
    derivationIndex: optionalWhole(args, 'index', { max: MAX_INDEX }),
  };
}

const encoded = (key: string): string => Buffer.from(key).toString('base64url');

function cursorOf(args: AdminArguments): string | null {
  const text = optionalText(args, 'cursor');
  if (text === undefined || text === '') return null;
  const key = Buffer.from(text, 'base64url').toString();
  return /^(un)?resolved\/\d{12}\/[a-z]+:[0-9A-Za-z]+:\d+$/.test(key)
    ? key
    : refused('cursor is not from a previous page');
}

type Found = Omit<FoundTransfer, 'state'> & { readonly state: FoundTransfer['state'] | null };

function answer({ transfer }: Found, outcome: InboxOutcome, args: AdminArguments): JsonValue {
  if (!outcome.ok) return refused(outcome.refusal.message);
  const { value, context } = outcome.state;
  const target = context.decision?.target;
  return json({
    dry_run: flag(args, 'dryRun', 'dry_run'),
    transfer: transfer.depositKey,
    mode: transfer.mode,
    network: transfer.network,
    coin: transfer.coin,
    amount: transfer.amount,
    from_address: transfer.fromAddress,
    state: value === 'absent' ? 'open' : value,
    target: target ? (target.kind === 'session' ? target.sessionId : target.moveId) : null,
    notes: outcome.notes,
  });
}

function present(transfer: ListedTransfer, clock: Clock) {
  const {
    depositKey,
    mode,
    network,
    coin,
    amount,
    fromAddress,
    toAddress,
    txHash,
    logIndex,
    blockNumber,
    blockTimeSec,
  } = transfer;
  const { kind, state, sessionId, orderId, merchantId, decision } = transfer;
  return {
    id: depositKey,
    state,
    kind,
    mode,
    network,
    coin,
    amount,
    age_days: Math.floor((toSec(clock.nowMs()) - blockTimeSec) / DAY_SEC),
    from_address: fromAddress,
    to_address: toAddress,
    tx_hash: txHash,
    log_index: logIndex,
    block_number: blockNumber,
    block_time: blockTimeSec,
    ...{ session_id: sessionId, order_id: orderId, merchant_id: merchantId },
    decision: decision && {
      ...{ actor: decision.actor, reason: decision.reason, decided: decision.decidedAtSec, target: decision.target },
      ...{ because: decision.because, tx_hash: decision.txHash },
    },
  };
}

function presentFound({ transfer, state }: FoundTransfer, listed: ListedTransfer | null, clock: Clock) {
  const { origin, sender, derivationIndex } = transfer;
  return {
    ...(listed
      ? present(listed, clock)
      : {
          id: transfer.depositKey,
          mode: transfer.mode,
          network: transfer.network,
          coin: transfer.coin,
          amount: transfer.amount,
        }),
    state: state.value === 'absent' ? 'open' : state.value,
    ...{ origin: origin.kind, derivation_index: derivationIndex, sender },
  };
}
