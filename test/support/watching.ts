import { setTimeout as sleep } from 'node:timers/promises';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { DepositCommands } from '../../src/features/deposits/chain/types.ts';

/** What a watcher told the sessions, in the order it did. */
export class ToldDeposits implements DepositCommands {
  readonly facts: DepositFacts[] = [];
  readonly lines: string[] = [];

  async record(sessionId: SessionId, facts: DepositFacts): Promise<void> {
    this.facts.push(facts);
    this.lines.push(`record ${sessionId} ${facts.txHash} ${facts.amount} ${facts.coin}`);
  }

  async confirm(sessionId: SessionId, data: { readonly depositKey: string }): Promise<void> {
    this.lines.push(`confirm ${sessionId} ${data.depositKey}`);
  }

  async move(sessionId: SessionId, facts: DepositFacts): Promise<boolean> {
    this.lines.push(`move ${sessionId} ${facts.depositKey} to ${facts.blockNumber}`);
    return false;
  }

  async revert(sessionId: SessionId, data: { readonly depositKey: string }): Promise<void> {
    this.lines.push(`revert ${sessionId} ${data.depositKey}`);
  }
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
