import { dayOf, monthOf } from '../../domain/values/calendar.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import { OPEN_DEPOSITS_TABLE } from '../../../projections/deposits/deposits-by-block.projection.ts';
import { LEDGER_SESSIONS_TABLE } from '../../../projections/ledger/session-books.ts';

/** A deposit in a block of the month that was not final at the time of the query. */
export interface NotFinalDeposit {
  readonly sessionId: string;
  readonly network: Network;
  readonly coin: string;
  readonly amount: string;
  readonly txHash: string;
  readonly blockTimeSec: number;
}

/**
 * Deposits of the month or an earlier one that have no entry yet. If the month is closed now, they will fall into the
 * open month.
 */
export async function notFinalIn(
  readModel: Pick<ReadModel, 'scan' | 'getMany'>,
  mode: Mode,
  month: string,
): Promise<NotFinalDeposit[]> {
  const found: NotFinalDeposit[] = [];
  for await (const page of rowPages(readModel, OPEN_DEPOSITS_TABLE)) {
    const rows = page.map(({ row }) => row);
    const sessions = await readModel.getMany(
      LEDGER_SESSIONS_TABLE,
      rows.map(({ sessionId }) => sessionId),
    );
    for (const [index, { sessionId, facts }] of rows.entries()) {
      const { network, coin, amount, txHash, blockTimeSec } = facts;
      if (sessions[index]?.mode !== mode || monthOf(dayOf(blockTimeSec)) > month) continue;
      found.push({ sessionId, network, coin, amount, txHash, blockTimeSec });
    }
  }
  return found;
}
