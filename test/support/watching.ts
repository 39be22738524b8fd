import { setTimeout as sleep } from 'node:timers/promises';
import type { DepositConfirmed, DepositFacts } from '../../src/domain/events/session-events.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { DepositCommands } from '../../src/features/deposits/chain/types.ts';

interface OneByOne extends Pick<DepositCommands, 'move' | 'revert'> {
  record(sessionId: SessionId, facts: DepositFacts): Promise<unknown>;
  confirm(sessionId: SessionId, data: DepositConfirmed['data'], network: Network): Promise<unknown>;
}

interface Small {
  is(facts: DepositFacts): boolean;
  counted(sessionId: SessionId, transfers: readonly DepositFacts[]): void;
}

/** Sessions that keep every transfer but small ones, for watchers that tell all of a reading at once. */
export const keepingAll = (
  of: OneByOne,
  small: Small = { is: () => false, counted: () => undefined },
): DepositCommands => ({
  record: async (id, transfers) => {
    for (const facts of transfers) if (!small.is(facts)) await of.record(id, facts);
    return new Map(transfers.map((facts) => [facts.depositKey, small.is(facts) ? 'small' : 'kept']));
  },
  confirm: async (id, data, network) => {
    for (const each of data) await of.confirm(id, each, network);
  },
  countTogether: (id, transfers) => {
    small.counted(id, transfers);
    return Promise.resolve([]);
  },
  move: (...given) => of.move(...given),
  revert: (...given) => of.revert(...given),
});

/** What a watcher told the sessions, in the order it did. */
export class ToldDeposits {
  readonly facts: DepositFacts[] = [];
  readonly lines: string[] = [];

  readonly commands = keepingAll({
    record: async (sessionId, facts) => {
      this.facts.push(facts);
      this.lines.push(`record ${sessionId} ${facts.txHash} ${facts.amount} ${facts.coin}`);
    },
    confirm: async (sessionId, data) => this.lines.push(`confirm ${sessionId} ${data.depositKey}`),
    move: async (sessionId, facts) => {
      this.lines.push(`move ${sessionId} ${facts.depositKey} to ${facts.blockNumber}`);
      return false;
    },
    revert: async (sessionId, data) => void this.lines.push(`revert ${sessionId} ${data.depositKey}`),
  });
}

const GIVE_UP_MS = 30_000;

export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  told: () => unknown = () => '',
): Promise<void> {
  const startedMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedMs > GIVE_UP_MS) throw new Error(`never: ${what} ${JSON.stringify(told())}`);
    await sleep(25);
  }
}
