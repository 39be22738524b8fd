import type { TreasuryAccount } from './account.ts';
import type { RoundFaults } from './faults.ts';
import type { Outgoing, OutgoingRecords } from './records.ts';
import type { RetryState } from './retry-state.ts';

interface Parts<Item extends Outgoing> {
  readonly account: Pick<TreasuryAccount, 'chain' | 'address' | 'context'>;
  readonly records: Pick<OutgoingRecords<Item>, 'forgotten'>;
  readonly retries: Pick<RetryState<Item['ref']>, 'setAlarm'>;
}

/**
 * The account's sequence on the chain must match the event log. Ahead: somebody else holds the key. Behind: a node
 * forgot transactions, which block all later ones, so they are sent again.
 */
export async function sequenceAgrees<Item extends Outgoing>(
  { account, records, retries }: Parts<Item>,
  faults: RoundFaults,
): Promise<boolean> {
  const { chain, address } = account;
  const next = await chain.nextNonce(address);
  if (next === null) return true;
  faults.answered('chain');
  // Read after the chain, because transactions are recorded before the chain counts them.
  const known = (await account.context()).nextNonce ?? 0;
  if (next > known) {
    const alarm = `${address} has sent ${next} transactions on ${chain.network}, the event log knows ${known}: somebody else holds its key`;
    retries.setAlarm('sequence', alarm);
    return false;
  }
  retries.setAlarm('sequence', null);
  for (const sent of (await records.forgotten?.(next)) ?? []) await chain.broadcast(sent);
  return true;
}
