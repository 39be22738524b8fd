import { ADDRESS_FAMILIES, addressFamilyOf } from '../../domain/networks/networks.ts';
import { OPERATOR_ACTS_STREAM } from '../../domain/values/streams.ts';
import type { AddressDeriver } from '../../ports/chain/addresses.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { dataOf } from '../../runtime/commands/codec.ts';
import { depositFactsOf } from '../../features/deposits/chain/facts.ts';
import {
  searchLost,
  type FoundMoney,
  type LostAddresses,
  type SearchedChain,
} from '../../features/unmatched/search.ts';
import type { Inbox } from '../../features/unmatched/unmatched.ts';
import {
  CommandRefused,
  optionalText,
  requiredMode,
  requiredText,
  type AdminArguments,
  type AdminCommands,
} from '../server/commands.ts';
import { unmatchedTransferOf, type RecordParts } from '../chains/record-transfer.ts';
import { must } from '../../domain/values/must.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { MAX_INDEX, optionalWhole, requiredWhole } from '../server/whole-number.ts';

export interface SearchParts extends Pick<RecordParts, 'core' | 'senders' | 'treasuries'> {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly chains: readonly SearchedChain[];
  readonly derivers: readonly AddressDeriver[];
  readonly inbox: Pick<Inbox, 'record'>;
}

interface Wanted {
  readonly lost: readonly LostAddresses[];
  readonly sinceSec: number;
  readonly restoredAtSec: number | null;
}

/** BIP-32 indexes end below 2^31. */

/** `quittance inbox search`: money at addresses that were assigned in a lost part of the event log. */
export function searchCommands(parts: SearchParts): AdminCommands {
  return {
    'inbox.search': async (args) => {
      const by =
        args['record'] === true ? { actor: requiredText(args, 'actor'), reason: requiredText(args, 'reason') } : null;
      const { lost, sinceSec, restoredAtSec } = (await namedIn(args)) ?? (await ofLastRestore(parts.store));
      const searched: JsonValue[] = [];
      const transfers: JsonValue[] = [];
      for (const one of lost) {
        const { mode, family } = one;
        const deriver = parts.derivers.find((candidate) => candidate.mode === mode && candidate.family === family);
        const chains = parts.chains.filter((chain) => chain.mode === mode && addressFamilyOf(chain.network) === family);
        if (!deriver || chains.length === 0)
          searched.push({
            mode,
            family,
            network: null,
            addresses: 0,
            fault: 'this process has no addresses or no provider for it',
          });
        for (const chain of deriver ? chains : []) {
          const found = await searchLost(one, must(deriver), chain, sinceSec).catch(messageOf);
          searched.push({ mode, family, network: chain.network, ...lineOf(found) });
          if (typeof found === 'string') continue;
          for (const { transfer, derivationIndex } of found.transfers) {
            const { depositKey, coin, amount, toAddress, fromAddress, txHash, logIndex } = depositFactsOf(
              transfer,
              chain.settings,
            );
            const named = { mode, network: chain.network, txHash, logIndex, derivationIndex };
            const state = by ? await recorded(parts, named, by) : 'found: not recorded';
            transfers.push({
              id: depositKey,
              mode,
              coin,
              amount,
              address: toAddress,
              index: derivationIndex,
              from: fromAddress,
              state,
            });
          }
        }
      }
      return { restored_at: restoredAtSec, since: sinceSec, searched, transfers };
    },
  };
}

const lineOf = (found: FoundMoney | string): { [key: string]: JsonValue } =>
  typeof found === 'string' ? { addresses: 0, fault: found } : { addresses: found.searched, fault: null };

/** The outcome of each; a transfer that cannot be recorded now states why, and the others continue. */
async function recorded(
  parts: SearchParts,
  named: Parameters<typeof unmatchedTransferOf>[0],
  by: { actor: string; reason: string },
): Promise<string> {
  try {
    const outcome = await parts.inbox.record(await unmatchedTransferOf(named, parts), { by, dryRun: false });
    return outcome.ok ? 'recorded in the inbox' : outcome.refusal.message;
  } catch (error) {
    if (error instanceof CommandRefused) return `not recorded: ${error.message}`;
    throw error;
  }
}

/** Null when no transfer is named. Throws `CommandRefused` for one that is named in part. */
async function namedIn(args: AdminArguments): Promise<Wanted | null> {
  if (['mode', 'family', 'from', 'to', 'since'].every((name) => optionalText(args, name) === undefined)) return null;
  const mode = requiredMode(args);
  const family = ADDRESS_FAMILIES.find((name) => name === requiredText(args, 'family'));
  if (!family) throw new CommandRefused('family must be evm, tron or solana');
  const [unusedFrom, sinceSec] = [requiredWhole(args, 'from', INDEX), requiredWhole(args, 'since', INDEX)];
  const to = optionalWhole(args, 'to', INDEX) ?? null;
  if (to !== null && to < unusedFrom) throw new CommandRefused('to must not be less than from');
  const lost: LostAddresses = {
    mode,
    family,
    unusedFrom,
    leasedBelow: to === null ? unusedFrom : to + 1,
    isKnown: to !== null,
  };
  return { lost: [lost], sinceSec, restoredAtSec: null };
}

const INDEX = { max: MAX_INDEX };

async function ofLastRestore(store: SearchParts['store']): Promise<Wanted> {
  const events = (await store.readStream(OPERATOR_ACTS_STREAM)).filter(({ type }) => type === 'EventLogRestored');
  const last = events.at(-1);
  if (!last)
    throw new CommandRefused(
      'the event log was not restored by "quittance restore": specify --mode, --family, --from (an index) and --since',
    );
  const { addresses, lastEventAtSec, backupMadeAtSec, restoredAtSec } = dataOf(last, 'EventLogRestored');
  return { lost: addresses, sinceSec: lastEventAtSec ?? backupMadeAtSec, restoredAtSec };
}
