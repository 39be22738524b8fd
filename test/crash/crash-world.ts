import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxChain } from '../../src/sandbox/sandbox-chain.ts';
import { startSurfpool } from '../../src/sandbox/surfpool/start-surfpool.ts';
import { transfersSeen } from './chain-witness.ts';
import { RunningService, until } from './running-service.ts';

export type PaidNetwork = 'ethereum' | 'bsc' | 'tron' | 'solana';

/** Where the process is killed, in the order a payout comes by. */
export const CRASH_POINTS = [
  'before-reserve',
  'after-reserve',
  'signer-before-journal',
  'signer-after-journal',
  'after-sign',
  'after-signed-event',
  'after-sequence-event',
  'before-broadcast',
  'after-broadcast',
  'before-landed-event',
  'after-landed-event',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export interface Outcome {
  readonly network: PaidNetwork;
  readonly points: readonly string[];
  /** Those of the points at which the process really ended; a later start may find the work done before. */
  readonly reached: readonly string[];
  /** Transfers of this refund that the chain shows. */
  readonly transfers: number;
  /** Why it is a violation; null when exactly one transfer reached the payer and everything agrees about it. */
  readonly violation: string | null;
}

const DECIMALS: Readonly<Record<PaidNetwork, number>> = { ethereum: 6, bsc: 18, tron: 6, solana: 6 };
const REACH_MS = 40_000;
const SETTLE_MS = 90_000;

/** One paid session that is refunded piece by piece; every piece has an amount of its own, so that the chain can tell them apart. */
export class CrashWorld {
  readonly #directory: string;
  readonly #dataDir: string;
  readonly #network: PaidNetwork;
  #env: Readonly<Record<string, string>>;
  #solana: SandboxChain | null = null;
  #sessionId = '';
  #payer = '';
  #pieces = 0;

  private constructor(network: PaidNetwork, env: Readonly<Record<string, string>>) {
    this.#network = network;
    this.#env = env;
    this.#directory = mkdtempSync(join(tmpdir(), 'quittance-crash-'));
    this.#dataDir = join(this.#directory, 'data');
  }

  static async create(network: PaidNetwork, env: Readonly<Record<string, string>> = {}): Promise<CrashWorld> {
    const world = new CrashWorld(network, env);
    try {
      // The other chains keep their state over a kill; Solana's must run outside of what is killed.
      if (network === 'solana') await world.#runSolana();
      await world.#prepare();
      return world;
    } catch (error) {
      await world.remove();
      throw error;
    }
  }

  async remove(): Promise<void> {
    await this.#solana?.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Refunds one piece while the process is killed at each of the points, one start after the other. */
  async refundThrough(points: readonly string[]): Promise<Outcome> {
    this.#pieces += 1;
    const amount = `1.${String(this.#pieces).padStart(4, '0')}`;
    let refundId: string | null = null;
    const key = `piece-${this.#pieces}-${points.join('-')}`;
    const reached: string[] = [];
    for (const point of points) {
      const service = await RunningService.startUnlessKilled(this.#dataDir, { ...this.#env, CRASH_AT: point });
      if (service && refundId === null) refundId = await this.#refund(service, amount, key).catch(() => null);
      if (!service || (await this.#awaitCrash(service, point, refundId))) reached.push(point);
    }
    const service = await RunningService.start(this.#dataDir, this.#env);
    try {
      refundId = await this.#refund(service, amount, key);
      return { network: this.#network, points, reached, ...(await this.#judge(service, refundId, amount)) };
    } finally {
      await service.kill();
    }
  }

  async #runSolana(): Promise<void> {
    const solana = await startSurfpool({ directory: join(this.#dataDir, 'chains', 'solana') });
    if ('reason' in solana) throw new Error(solana.reason);
    this.#solana = solana;
    this.#env = { ...this.#env, SANDBOX_SOLANA_URL: solana.rpcUrl };
  }

  async #prepare(): Promise<void> {
    const service = await RunningService.start(this.#dataDir, this.#env);
    try {
      const session = await service.client.sessions.create({ amount: '900.00', currency: 'USDT', order_id: 'crash-1' });
      await service.client.sandbox.pay(session.id, { network: this.#network });
      const paid = await until('the session is paid', SETTLE_MS, async () => {
        const now = await service.client.sessions.get(session.id);
        return now.payment_status === 'paid' && now;
      });
      this.#sessionId = session.id;
      this.#payer = (paid as unknown as { deposits: { from_address: string }[] }).deposits[0]!.from_address;
    } finally {
      await service.stop();
    }
  }

  async #refund(service: RunningService, value: string, idempotencyKey: string): Promise<string> {
    const refund = await service.client.refunds.create({ session_id: this.#sessionId, amount: { value, currency: 'USDT' } }, { idempotencyKey });
    return refund.id;
  }

  /** Resolves when the process is gone: true when it ended at the point. The signer dies alone; then the rest is killed too. */
  async #awaitCrash(service: RunningService, point: string, refundId: string | null): Promise<boolean> {
    const signerDied = (): boolean =>
      point.startsWith('signer-') && service.log.split('the sandbox accepts requests').at(-1)!.includes('the signer ended');
    const done = async (): Promise<boolean> => refundId !== null && (await service.client.refunds.get(refundId)).status === 'COMPLETED';
    await until(`the process reaches ${point}`, REACH_MS, async () => service.hasEnded || signerDied() || (await done().catch(() => false)));
    const reached = service.hasEnded || signerDied();
    await service.kill();
    return reached;
  }

  async #judge(service: RunningService, refundId: string, amount: string): Promise<Pick<Outcome, 'transfers' | 'violation'>> {
    const refund = await until('the refund completes', SETTLE_MS, async () => {
      const now = await service.client.refunds.get(refundId);
      return now.status === 'COMPLETED' && now;
    });
    const { rpc_url: rpcUrl, tokens, treasury } = service.facts.networks[this.#network]!;
    const units = BigInt(amount.replace('.', '')) * 10n ** BigInt(DECIMALS[this.#network] - 4);
    const seen = await transfersSeen({ network: this.#network, rpcUrl, token: tokens['USDT']!, from: treasury, to: this.#payer, tokenUnits: units });
    // A second payment would have had the time to come.
    await sleep(500);
    const told = await until('the webhook is in the feed', SETTLE_MS, async () => {
      const events = await refundEvents(service, refundId);
      return events.length > 0 && events;
    });
    const fault =
      seen.length !== 1
        ? `${seen.length} transfers`
        : refund.tx_hash !== seen[0]
          ? `the API names ${refund.tx_hash}, the chain ${seen[0]}`
          : told.length !== 1
            ? `${told.length} notifications`
            : null;
    return { transfers: seen.length, violation: fault };
  }
}

async function refundEvents(service: RunningService, refundId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data, pagination } = await service.client.events.after(cursor, { page_size: 100 });
    for (const event of data) if (JSON.stringify(event).includes(refundId)) ids.push(event.id);
    if (!pagination.has_more || pagination.next_cursor === null) return ids;
    cursor = pagination.next_cursor;
  }
}
