import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callAdmin } from '../../src/cli/admin-client.ts';
import type { JsonValue } from '../../src/ports/read-model/read-model.ts';
import type { SandboxChain } from '../../src/sandbox/chain.ts';
import { newAddress, startLocalChain } from './local-chain.ts';
import { transfersSeen } from './chain-witness.ts';
import type { JourneyName, KilledNetwork, Plan } from './crash-plans.ts';
import { RunningService, until } from './running-service.ts';
import { tasksOf } from './crash-tasks.ts';
import { approveAs, approverKey } from '../support/approvers.ts';
import { disagreementOf, type Reconciled } from '../support/reconciled.ts';

/** One transfer that is to be made, however often the process is killed meanwhile. */
export interface Task {
  readonly coin: 'USDT';
  readonly amount: string;
  readonly from: string;
  readonly to: string;
  /** Asks for it; safe to repeat. */
  order(service: RunningService): Promise<unknown>;
  isDone(service: RunningService): Promise<boolean>;
  /** What else must hold once `txHash` is the one transfer that the chain shows; null when it does. */
  fault(service: RunningService, txHash: string): Promise<string | null>;
}

export interface Outcome {
  readonly network: KilledNetwork;
  readonly journey: JourneyName;
  readonly points: Plan;
  /** Those of the points at which the process really ended; a later start may find the work done before. */
  readonly reached: readonly string[];
  /** Transfers of exactly this amount that the chain shows. */
  readonly transfers: number;
  /** Why it is a violation; null when exactly one transfer reached its place and everything agrees about it. */
  readonly violation: string | null;
}

export const WAIT_MS = 300_000;
const DECIMALS: Readonly<Record<KilledNetwork, number>> = { ethereum: 6, bsc: 18, tron: 6, solana: 6 };
/** Who agrees; `ada` proposes, too. */
const APPROVERS = ['ada', 'ben', 'cleo'] as const;

/** A chain that goes on, and beside it the sandbox as a user runs it, which is killed and started again. */
export class CrashWorld {
  readonly network: KilledNetwork;
  readonly chain: SandboxChain;
  /** An allow-listed address, and one that belongs to the merchant. */
  readonly strangers: { readonly cold: string; readonly merchant: string };
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #tasks = new Map<JourneyName, (amount: string) => Promise<Task>>();
  #service: RunningService | null = null;
  #pieces = 0;

  private constructor(
    network: KilledNetwork,
    chain: SandboxChain,
    directory: string,
    env: Readonly<Record<string, string>>,
  ) {
    this.network = network;
    this.chain = chain;
    this.#directory = directory;
    this.strangers = { cold: newAddress(network), merchant: newAddress(network) };
    const { settings, rpcUrl, genesis } = chain;
    writeFileSync(join(directory, 'chains.json'), JSON.stringify([{ settings, rpcUrl, genesis }]));
    this.#env = {
      SANDBOX_CHAINS: join(directory, 'chains.json'),
      CRASH_AT: `file:${join(directory, 'crash-at')}`,
      // Most of a start is reading sources, and a process that is killed fills no cache.
      NODE_COMPILE_CACHE:
        process.env['NODE_COMPILE_CACHE'] ?? join(import.meta.dirname, '../../node_modules/.cache/compiled'),
      PAYOUT_APPROVERS: JSON.stringify(APPROVERS.map(approverKey)),
      WITHDRAWAL_ADDRESSES: JSON.stringify({ test: { [network]: [this.strangers.cold] } }),
      ...env,
    };
    this.#arm('');
  }

  static async create(network: KilledNetwork, env: Readonly<Record<string, string>> = {}): Promise<CrashWorld> {
    const directory = mkdtempSync(join(tmpdir(), 'quittance-crash-'));
    mkdirSync(join(directory, 'chain'), { recursive: true });
    const chain = await startLocalChain(network, join(directory, 'chain')).catch((error: unknown) => {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    });
    const world = new CrashWorld(network, chain, directory, env);
    try {
      const service = await world.service();
      await chain.fundTreasury!(service.facts.networks[network]!.treasury);
      await until('the books know what the treasury holds', WAIT_MS, async () => (await world.disagreement()) === null);
      return world;
    } catch (error) {
      await world.remove();
      throw error;
    }
  }

  async remove(): Promise<void> {
    await this.#service?.kill();
    await this.chain.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** The service, started when it does not run. */
  async service(): Promise<RunningService> {
    return (this.#service ??= await RunningService.start(this.dataDir, this.#env));
  }

  async admin<Answer>(command: string, args: Readonly<Record<string, JsonValue>> = {}): Promise<Answer> {
    return (await callAdmin(this.dataDir, command, args)) as unknown as Answer;
  }

  /** The command as an approver runs it. */
  approveAs<Answer>(name: string, command: string, args: Readonly<Record<string, string>>): Promise<Answer> {
    return approveAs((...asked) => this.admin(...asked), name, command, args);
  }

  /** The command as both run it who did not propose it; what the second one is answered. */
  async twoApprove<Answer>(command: string, args: Readonly<Record<string, string>>): Promise<Answer> {
    await this.approveAs('ben', command, args);
    return this.approveAs('cleo', command, args);
  }

  /** Makes one transfer while the process is killed at each of the points, one start after the other. */
  async through(journey: JourneyName, points: Plan): Promise<Outcome> {
    const task = await this.#taskOf(journey);
    const reached: string[] = [];
    for (const point of points) {
      this.#arm(point);
      if (await this.#diesAt(point, task)) reached.push(point);
    }
    this.#arm('');
    return { network: this.network, journey, points, reached, ...(await this.#judge(task)) };
  }

  /**
   * Why books and chain differ; null when every account has what the books say and nothing left that nobody ordered.
   */
  async disagreement(): Promise<string | null> {
    const { treasuries } = await this.admin<{ treasuries: readonly [Reconciled] }>('treasury.reconcile', {
      network: this.network,
    });
    return disagreementOf(treasuries[0]);
  }

  /** Transaction ids of every transfer of exactly this amount, as the chain itself shows them. */
  transfersOf({ coin, amount, from, to }: Pick<Task, 'coin' | 'amount' | 'from' | 'to'>): Promise<string[]> {
    const { rpcUrl, settings } = this.chain;
    const token = settings.tokens.find((candidate) => candidate.coin === coin)!.address;
    const [whole, fraction = ''] = amount.split('.');
    const tokenUnits = BigInt(`${whole}${fraction.padEnd(DECIMALS[this.network], '0')}`);
    return transfersSeen({ network: this.network, rpcUrl, token, from, to, tokenUnits });
  }

  get dataDir(): string {
    return join(this.#directory, 'data');
  }

  #arm(point: string): void {
    writeFileSync(join(this.#directory, 'crash-at'), point);
  }

  /** Every transfer has an amount of its own, so that the chain can tell them apart. */
  async #taskOf(journey: JourneyName): Promise<Task> {
    let next = this.#tasks.get(journey);
    if (!next) this.#tasks.set(journey, (next = await tasksOf(this, journey)));
    this.#pieces += 1;
    return next(`1.${String(this.#pieces).padStart(4, '0')}`);
  }

  /**
   * True when the process ended at the point; false when the work was done without coming by. The signer dies alone;
   * then the rest is killed, too.
   */
  async #diesAt(point: string, task: Task): Promise<boolean> {
    const service = this.#service ?? (await RunningService.startUnlessKilled(this.dataDir, this.#env));
    this.#service = service;
    if (service === null) return true;
    await task.order(service).catch(() => undefined);
    const isGone = (): boolean => service.hasEnded || service.hasLostItsSigner;
    await until(
      `the process reaches ${point}`,
      WAIT_MS,
      async () => isGone() || (await task.isDone(service).catch(() => false)),
    );
    // The last point lies behind the event that tells that the work is done.
    for (let looks = 0; looks < 5 && !isGone(); looks++) await sleep(50);
    if (!isGone()) return false;
    await service.kill();
    this.#service = null;
    return true;
  }

  async #judge(task: Task): Promise<Pick<Outcome, 'transfers' | 'violation'>> {
    const service = await this.service();
    // Asking once more must change nothing.
    await task.order(service);
    await until('the money has moved', WAIT_MS, () => task.isDone(service));
    // A second transfer would have had the time to come.
    await sleep(500);
    const seen = await this.transfersOf(task);
    return {
      transfers: seen.length,
      violation: seen.length === 1 ? await task.fault(service, seen[0]!) : `${seen.length} transfers`,
    };
  }
}
