import type { RecordedEvent } from '../../../src/ports/event-log/event-store.ts';
import type { ChainBlock, Movement } from '../chain/block.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import { TOKENS } from '../networks.ts';
import type { ModelledNetwork } from '../plan/plan.ts';
import type { World } from '../world.ts';

/*
 * What the oracle goes by: the chains as they are, and the event log as text. It shares nothing with the deciders,
 * machines and projections that it judges, neither code nor types.
 */

export type Data = Readonly<Record<string, unknown>>;

export interface Fact {
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly data: Data;
  readonly metadata: Data;
  readonly atMs: number;
  /** The moment at which it became durable. */
  readonly committedMs: number;
}

export const factOf = ({ stream, revision, type, data, metadata, atMs }: RecordedEvent, committedMs: number): Fact => ({
  ...{ stream, revision, type, atMs, committedMs },
  ...{ data: JSON.parse(data) as Data, metadata: JSON.parse(metadata) as Data },
});

/** A token movement in the chain as it is now. */
export interface Landed extends Movement {
  readonly network: ModelledNetwork;
  readonly coin: string;
  readonly txHash: string;
  readonly logIndex: number;
  readonly block: ChainBlock<unknown, unknown>;
  readonly isFinal: boolean;
}

/** Every successful movement of tokens that count. */
export function movementsOn(network: ModelledNetwork, chain: SimulatedChain): Landed[] {
  const { branch, height } = chain.view;
  const final = chain.finalizedIn(chain.view);
  const coins = new Map(Object.entries(TOKENS[network]).map(([coin, address]) => [address, coin]));
  const found: Landed[] = [];
  for (const block of branch.slice(0, height + 1))
    for (const { transaction, movements, logIndexes } of block.included)
      movements.forEach((movement, index) => {
        const coin = coins.get(movement.asset);
        if (coin === undefined || coin === 'spam' || movement.kind !== 'transfer') return;
        found.push({
          ...movement,
          from: chain.payerOf(movement, transaction.txHash),
          network,
          coin,
          txHash: transaction.txHash,
          logIndex: logIndexes[index]!,
          block,
          isFinal: block.number <= final,
        });
      });
  return found;
}

export const allMovements = (world: World): Landed[] =>
  [...world.chains].flatMap(([network, { chain }]) => movementsOn(network, chain));

/** Decimal text in units of 10^-6, without any code of the service. */
export function unitsOf(amount: unknown): bigint {
  const [, whole, part = ''] = /^(\d+)(?:\.(\d+))?$/.exec(String(amount)) ?? [];
  if (whole === undefined) throw new Error(`not an amount: ${String(amount)}`);
  return BigInt(whole + part.padEnd(6, '0').slice(0, 6));
}
