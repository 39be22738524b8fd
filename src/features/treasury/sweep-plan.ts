import type { Mode } from '../../domain/values/ids.ts';
import { isCoin, type Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import {
  COLLECTED_TABLE,
  collectedKey,
  signedAmount,
  type CollectedRow,
} from '../../../projections/treasury/collected.projection.ts';
import { optionAt } from '../../../state-machines/checkout-session/session.state.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';

/** Money at one collection address that a sweep would move to the treasury. */
export interface SweepCandidate {
  readonly mode: Mode;
  readonly network: Network;
  readonly coin: Coin;
  /** 10^-18 units. */
  readonly units: bigint;
  readonly address: string;
  readonly derivationIndex: number;
}

export interface SweepFilter {
  readonly mode?: Mode;
  readonly network?: Network;
  readonly coin?: Coin;
  /** Minimum per address in 10^-18 units; smaller amounts stay. */
  readonly minUnits: bigint;
}

/** Everything that collection addresses hold according to the event log and that passes the filter. */
export async function* sweepCandidates(
  { readModel, sessions }: { readonly readModel: ReadModel; readonly sessions: SessionHandler },
  filter: SweepFilter,
): AsyncGenerator<SweepCandidate> {
  const prefix = filter.network === undefined ? '' : collectedKey(filter.network, '');
  for await (const page of rowPages(readModel, COLLECTED_TABLE, { prefix }))
    for (const { row } of page) yield* candidatesAt(row, sessions, filter);
}

async function* candidatesAt(
  row: CollectedRow,
  sessions: SessionHandler,
  filter: SweepFilter,
): AsyncGenerator<SweepCandidate> {
  const wanted = Object.entries(row.coins).filter(([coin, amount]) => {
    const units = signedAmount(amount);
    return (filter.coin === undefined || coin === filter.coin) && units > 0n && units >= filter.minUnits;
  });
  if (wanted.length === 0 || row.sessionId === '') return;
  const created = (await sessions.read(sessionStream(row.sessionId)))?.context.created;
  const option = created && optionAt(created, row.address);
  if (!created || !option || (filter.mode !== undefined && created.mode !== filter.mode)) return;
  for (const [coin, amount] of wanted) {
    if (!isCoin(coin)) continue;
    const { address, derivationIndex } = option;
    yield { mode: created.mode, network: row.network, coin, units: signedAmount(amount), address, derivationIndex };
  }
}
