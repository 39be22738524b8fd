import type { Mode, SessionId } from '../../domain/ids.ts';
import { isCoin, type Coin } from '../../domain/money.ts';
import type { Network } from '../../domain/networks.ts';
import { sessionStream } from '../../domain/streams.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { COLLECTED_TABLE, signedAmount, type CollectedRow } from '../../../projections/treasury/collected.projection.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';

/** Money at one collection address that a sweep would bring to the treasury. */
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
  /** 10^-18 units at one address; less stays where it is. */
  readonly minUnits: bigint;
}

const PAGE = 1_000;

/** Everything that collection addresses hold by the ledger, as far as the filter wants it. */
export async function* sweepCandidates(
  { readModel, sessions }: { readonly readModel: ReadModel; readonly sessions: SessionHandler },
  filter: SweepFilter,
): AsyncGenerator<SweepCandidate> {
  for (let afterKey = filter.network === undefined ? undefined : `${filter.network}/`; ;) {
    const page = await readModel.scan(COLLECTED_TABLE, afterKey === undefined ? { limit: PAGE } : { afterKey, limit: PAGE });
    for (const { row } of page) {
      const collected = row as CollectedRow;
      if (filter.network !== undefined && collected.network !== filter.network) return;
      yield* candidatesAt(collected, sessions, filter);
    }
    if (page.length < PAGE) return;
    afterKey = page.at(-1)!.key;
  }
}

async function* candidatesAt(row: CollectedRow, sessions: SessionHandler, filter: SweepFilter): AsyncGenerator<SweepCandidate> {
  const wanted = Object.entries(row.coins).filter(([coin, amount]) => {
    const units = signedAmount(amount);
    return (filter.coin === undefined || coin === filter.coin) && units > 0n && units >= filter.minUnits;
  });
  if (wanted.length === 0) return;
  const created = (await sessions.read(sessionStream(row.sessionId as SessionId)))?.context.created;
  // EVM addresses serve several networks, and a payer may have used one that the session did not offer.
  const option = created?.paymentOptions.find(({ address }) => address.toLowerCase() === row.address.toLowerCase());
  if (!created || !option || (filter.mode !== undefined && created.mode !== filter.mode)) return;
  for (const [coin, amount] of wanted) {
    if (!isCoin(coin)) continue;
    const { address, derivationIndex } = option;
    yield { mode: created.mode, network: row.network, coin, units: signedAmount(amount), address, derivationIndex };
  }
}
