import type { AdjustmentTerms } from '../../domain/events/adjustment-events.ts';
import { dataOf } from '../../runtime/commands/codec.ts';
import { base32, MODES, type MerchantId, type Mode } from '../../domain/values/ids.ts';
import { merchantAccountOf } from '../../domain/money/ledger.ts';
import { isCoin } from '../../domain/money/money.ts';
import { NATIVE_COIN, type Network } from '../../domain/networks/networks.ts';
import { textOfRefusal } from '../../domain/values/result.ts';
import { adjustmentsStream } from '../../domain/values/streams.ts';
import type { ApprovalSigner } from '../../ports/signer/approvals.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { adjustmentsTable, type AdjustmentsHandler } from '../../features/shared/handlers/adjustments-handler.ts';
import { reversalOf, type AdjustmentsCommand } from '../../../state-machines/adjustments/adjustments.decider.ts';
import type { Adjustment } from '../../../state-machines/adjustments/adjustments.machine.ts';
import { actorOf, proposerOf, reasonInTerms } from '../server/acts.ts';
import { agree, approvedBy } from '../treasury/approvals.ts';
import { linesOf } from './entry-lines.ts';
import {
  type AdminArguments,
  type AdminCommands,
  optionalMode,
  optionalText,
  refused,
  requiredMode,
  requiredText,
} from '../server/commands.ts';
import { networkOf } from '../treasury/arguments.ts';
import { must } from '../../domain/values/must.ts';

export interface AdjustmentParts {
  readonly adjustmentsHandler: AdjustmentsHandler;
  readonly store: Pick<EventStore, 'readStream'>;
  /** Null where nothing is paid, so that no approvers are known. */
  readonly signer: ApprovalSigner | null;
  readonly modeOfMerchant: (merchantId: MerchantId) => Mode | null;
  readonly clock: Clock;
  readonly random: Random;
}

const ID_BYTES = 13;
const PAGE = 500;

/**
 * Entries posted by hand: one person proposes, two others approve with their own keys, and only another entry reverses
 * one.
 */
export function adjustmentCommands(parts: AdjustmentParts): AdminCommands {
  return {
    'ledger.adjust': async (args) => {
      const terms = await termsOf(parts, args);
      await tell(parts, terms.mode, { type: 'ProposeAdjustment', terms, nowSec: nowSec(parts) }, terms.proposedBy);
      return present({ terms, status: 'proposed', reversedBy: null });
    },
    'ledger.approve-adjustment': async (args) => {
      const { terms, status } = await find(parts, requiredText(args, 'id'));
      const { proposedBy, ...adjustment } = terms;
      if (status === 'posted') return refused('id: it is already posted');
      if (parts.signer === null)
        return refused('approvals are not possible here: this process has no signer with PAYOUT_APPROVERS');
      const agreed = await agree(parts.signer, [{ kind: 'adjustment', adjustment, proposedBy }], args);
      if (!agreed.ok) return agreed.answer;
      const { approvers, done } = agreed;
      if (!done) return { id: terms.adjustmentId, ...approvedBy(agreed), status: 'waiting_for_approval' };
      const reversesEvent = terms.reverses === null ? null : await postedBy(parts, terms.mode, terms.reverses);
      const { adjustmentId } = terms;
      await tell(
        parts,
        terms.mode,
        { type: 'PostAdjustment', adjustmentId, approvers, reversesEvent, nowSec: nowSec(parts) },
        must(approvers.at(-1)),
      );
      return { id: adjustmentId, ...approvedBy(agreed), status: 'posted' };
    },
    'ledger.reject-adjustment': async (args) => {
      const { terms } = await find(parts, requiredText(args, 'id'));
      const { adjustmentId, mode } = terms;
      const actor = actorOf(args);
      await tell(parts, mode, { type: 'RejectAdjustment', adjustmentId, actor, nowSec: nowSec(parts) }, actor);
      return { rejected: adjustmentId };
    },
    'ledger.adjustments': async (args) => {
      const mode = optionalMode(args);
      const all = await Promise.all(
        MODES.filter((each) => mode === undefined || each === mode).map((each) => adjustmentsOf(parts, each)),
      );
      return { adjustments: all.flatMap((each) => Object.values(each).map(present)) };
    },
  };
}

const nowSec = ({ clock }: AdjustmentParts): number => toSec(clock.nowMs());

/** The proposed terms. The decider checks them, except merchants, which it does not know. */
async function termsOf(parts: AdjustmentParts, args: AdminArguments): Promise<AdjustmentTerms> {
  const reverses = optionalText(args, 'reverses') ?? null;
  const shared = {
    adjustmentId: `adj_${base32(parts.random.bytes(ID_BYTES)).slice(0, 20)}`,
    reason: reasonInTerms(args),
    attachment: optionalText(args, 'attachment') ?? null,
    reverses,
    proposedBy: proposerOf(args),
  };
  if (reverses !== null) {
    for (const name of ['network', 'coin', 'debit', 'credit'])
      if (args[name] !== undefined) refused(`${name} is taken from the reversed entry: omit it`);
    const { terms } = await find(parts, reverses, 'reverses');
    return { ...shared, mode: terms.mode, ...reversalOf(terms) };
  }
  const mode = requiredMode(args);
  const network = networkOf(requiredText(args, 'network'));
  const coin = coinOf(network, requiredText(args, 'coin'));
  const lines = [
    ...linesOf(requiredText(args, 'debit'), 'debit'),
    ...linesOf(requiredText(args, 'credit'), 'credit').map(({ account, amount }) => ({
      account,
      amount: `-${amount}`,
    })),
  ];
  for (const { account } of lines) {
    const merchant = merchantAccountOf(account)?.merchantId;
    if (merchant !== undefined && parts.modeOfMerchant(merchant) !== mode)
      refused(`${account}: no such merchant in ${mode} mode`);
  }
  return { ...shared, mode, network, coin, lines };
}

function coinOf(network: Network, text: string): AdjustmentTerms['coin'] {
  const coin = text.toUpperCase();
  if (isCoin(coin)) return coin;
  return coin === NATIVE_COIN[network]
    ? NATIVE_COIN[network]
    : refused(`coin must be USDT, USDC or ${NATIVE_COIN[network]} on ${network}`);
}

async function adjustmentsOf(
  { adjustmentsHandler }: AdjustmentParts,
  mode: Mode,
): Promise<Readonly<Record<string, Adjustment>>> {
  return ((await adjustmentsHandler.read(adjustmentsStream(mode))) ?? adjustmentsTable.initial).context.adjustments;
}

async function find(parts: AdjustmentParts, id: string, name = 'id'): Promise<Adjustment> {
  for (const mode of MODES) {
    const adjustments = await adjustmentsOf(parts, mode);
    if (Object.hasOwn(adjustments, id)) return must(adjustments[id]);
  }
  return refused(`${name}: no such adjustment, or it was rejected`);
}

/** Id of the event that posted it. */
async function postedBy({ store }: AdjustmentParts, mode: Mode, id: string): Promise<string> {
  for (let from = 0; ; from += PAGE) {
    const events = await store.readStream(adjustmentsStream(mode), { from, limit: PAGE });
    const posted = events.find(
      (each) => each.type === 'AdjustmentPosted' && dataOf(each, 'AdjustmentPosted').adjustmentId === id,
    );
    if (posted) return posted.id;
    if (events.length < PAGE) return refused(`reverses: ${id} is not posted`);
  }
}

async function tell(
  { adjustmentsHandler, random }: AdjustmentParts,
  mode: Mode,
  command: AdjustmentsCommand,
  actor: string,
): Promise<void> {
  const result = await adjustmentsHandler.execute(adjustmentsStream(mode), command, {
    correlationId: random.uuid(),
    actor,
  });
  if (!result.ok) refused(textOfRefusal(result.refusal));
}

const present = ({ terms, status, reversedBy }: Adjustment) => {
  const { adjustmentId, mode, network, coin, lines, reason, attachment, reverses, proposedBy } = terms;
  const shown = lines.map(({ account, amount }) => {
    const isCredit = amount.startsWith('-');
    return { account, debit: isCredit ? null : amount, credit: isCredit ? amount.slice(1) : null };
  });
  return {
    id: adjustmentId,
    status: status === 'proposed' ? 'waiting_for_approval' : status,
    mode,
    network,
    coin,
    lines: shown,
    ...{ reason, attachment_sha256: attachment, reverses, reversed_by: reversedBy, proposed_by: proposedBy },
  };
};
