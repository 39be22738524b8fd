import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { transfersSeen } from './chain-witness.ts';
import { RunningService, until } from './running-service.ts';

/** Where the process is killed, in the order a sweep and the top-up before it come by. */
export const SWEEP_POINTS = [
  'after-top-up-requested',
  'before-move-reserve',
  'after-move-reserve',
  'signer-before-journal',
  'signer-after-journal',
  'after-move-sign',
  'after-move-signed-event',
  'before-broadcast',
  'after-broadcast',
  'before-move-completed',
  'after-move-completed',
] as const;

/** The first time a point comes by is the top-up's, the second the sweep's. */
export const sweepPlans = (): string[] => SWEEP_POINTS.flatMap((point) => (point === 'after-top-up-requested' ? [point] : [point, `${point}@2`]));

export interface SweepOutcome {
  readonly network: string;
  readonly point: string;
  readonly reached: boolean;
  readonly transfers: number;
  /** Why it is a violation; null when the money reached the treasury once and the ledger agrees. */
  readonly violation: string | null;
}

const DECIMALS: Readonly<Record<string, number>> = { ethereum: 6, bsc: 18, tron: 6 };
const WAIT_MS = 90_000;
const REACH_MS = 40_000;

interface Swept {
  readonly sweeps: readonly { readonly amount: string; readonly from_address: string; readonly to_address: string }[];
}

/** A collection address that is swept while the process is killed. */
export class SweepWorld {
  readonly #directory = mkdtempSync(join(tmpdir(), 'quittance-sweep-'));
  readonly #dataDir = join(this.#directory, 'data');
  readonly #network: string;
  #rounds = 0;

  constructor(network: string) {
    this.#network = network;
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async sweepThrough(point: string): Promise<SweepOutcome> {
    this.#rounds += 1;
    const planned = await this.#collect();
    const reached = await this.#kill(point);
    const service = await RunningService.start(this.#dataDir);
    try {
      // Ordering it again must change nothing: either it is under way, or nothing is left.
      await this.#admin('treasury.sweep', {});
      await until(
        'nothing moves any more',
        WAIT_MS,
        async () => ((await this.#admin('treasury.moves', {})) as { moves: unknown[] }).moves.length === 0,
      );
      const left = await until('the books agree', WAIT_MS, async () => {
        const plan = (await this.#admin('treasury.sweep', { dryRun: true })) as Swept;
        return plan.sweeps.length === 0 && plan;
      });
      const { rpc_url: rpcUrl, tokens } = service.facts.networks[this.#network]!;
      const units = BigInt(planned.amount.replace('.', '')) * 10n ** BigInt(DECIMALS[this.#network]! - 2);
      const { from_address: from, to_address: to } = planned;
      const seen = await transfersSeen({ network: this.#network, rpcUrl, token: tokens['USDT']!, from, to, tokenUnits: units });
      const violation = seen.length !== 1 ? `${seen.length} transfers` : left.sweeps.length > 0 ? 'the books still hold it' : null;
      return { network: this.#network, point, reached, transfers: seen.length, violation };
    } finally {
      await service.kill();
    }
  }

  /** A paid session whose money lies at an address of its own. */
  async #collect(): Promise<Swept['sweeps'][number]> {
    const service = await RunningService.start(this.#dataDir);
    try {
      const order = { amount: `${20 + this.#rounds}.00`, currency: 'USDT', order_id: `sweep-${this.#rounds}` };
      const session = await service.client.sessions.create(order);
      await service.client.sandbox.pay(session.id, { network: this.#network as 'ethereum' });
      return await until('the money is collected', WAIT_MS, async () => {
        const plan = (await this.#admin('treasury.sweep', { dryRun: true })) as Swept;
        return plan.sweeps[0];
      });
    } finally {
      await service.stop();
    }
  }

  async #kill(point: string): Promise<boolean> {
    const service = await RunningService.start(this.#dataDir, { CRASH_AT: point });
    const signerDied = (): boolean =>
      point.startsWith('signer-') && service.log.split('the sandbox accepts requests').at(-1)!.includes('the signer ended');
    await this.#admin('treasury.sweep', {}).catch(() => null);
    const isDone = async (): Promise<boolean> => ((await this.#admin('treasury.moves', {})) as { moves: unknown[] }).moves.length === 0;
    await until(`the process reaches ${point}`, REACH_MS, async () => service.hasEnded || signerDied() || (await isDone().catch(() => false)));
    const reached = service.hasEnded || signerDied();
    await service.kill();
    return reached;
  }

  #admin(command: string, args: Record<string, boolean>): Promise<unknown> {
    return callAdmin(this.#dataDir, command, { network: this.#network, ...args });
  }
}
