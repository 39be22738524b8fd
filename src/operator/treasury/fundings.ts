import { OPERATOR_FUNDING } from '../../domain/money/ledger.ts';
import { type AdminArguments, json } from '../server/commands.ts';
import { type BooksNamed, cursorOf, cursorText, modeOf, rangeOf } from '../books/arguments.ts';
import { limitOf } from '../server/whole-number.ts';
import type { LedgerJournal } from '../../features/ledger/journal.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { bookOf, type EntryRow } from '../../../projections/ledger/rows.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

interface FundingParts extends BooksNamed {
  readonly journal: LedgerJournal;
  readonly store: Pick<EventStore, 'readStream'>;
}

/** Money brought to the treasuries, each with its transaction or the blocks in one of which it arrived. */
export async function listFundings(parts: FundingParts, args: AdminArguments): Promise<JsonValue> {
  const scope = { mode: await modeOf(parts, args), book: bookOf(OPERATOR_FUNDING), ...rangeOf(args) };
  const { entries, next } = await parts.journal.page(
    scope,
    cursorOf(args),
    limitOf(args),
    ({ kind }) => kind === 'treasury_funded',
  );
  const fundings = await Promise.all(entries.map(({ entry }) => presentFunding(parts, entry)));
  return json({ mode: scope.mode, fundings, next_cursor: cursorText(next) });
}

/** Read from the event log: the books store no sender, and nothing where the transaction is unknown. */
async function presentFunding({ store }: FundingParts, { number, id, stream, revision }: EntryRow) {
  const [event] = await store.readStream(stream, { from: revision, limit: 1 });
  if (event?.id !== id) throw new Error(`entry ${number} is of the event ${id}, which is not ${stream}/${revision}`);
  const { network, coin, amount, address, fromAddress, txHash, logIndex, blockNumber, window, recordedAtSec } = dataOf(
    event,
    'TreasuryFunded',
  );
  return {
    entry: number,
    network,
    coin,
    amount,
    address,
    from_address: fromAddress,
    tx_hash: txHash,
    log_index: logIndex,
    block_number: txHash === null ? null : blockNumber,
    came_in_blocks: window ? [window.fromBlock, window.toBlock] : null,
    recorded_at: recordedAtSec,
  };
}
