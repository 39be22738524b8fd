import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { coinbaseJson, krakenCandlesJson, krakenJson, startPriceFeed, type PriceFeed } from '../support/price-feed.ts';
import { startPrometheus, type RunningPrometheus } from '../support/running-prometheus.ts';
import { eventually, signedCall, type ApiAnswer } from '../support/running-sandbox.ts';
import { freePort } from '../support/free-port.ts';
import { startTokenChain, type TokenChain } from '../support/tokens.ts';
import type { DrillNodeSettings } from './drill-node.ts';
import { drillRules } from './drill-rules.ts';
import { NodeProcess } from './node-process.ts';

const GIGABYTE = 1e9;
const RATE_MAX_AGE_SEC = 15;
/** USDC is the coin that one drill alone pays with. */
const DAYS_OF = ['USDT', 'ETH', 'BNB', 'TRX', 'SOL'];
const ENOUGH_ADDRESSES = 2_000;
export const SECOND_SOURCE_FROM = '500';

const BLOCK_MS = 500;

export type DrillNetworkName = 'ethereum' | 'bsc';

/** A chain of the drill with the providers before it. */
class DrillChain {
  readonly node: TokenChain;
  /** Read from. */
  readonly first: FaultProxy;
  readonly second: FaultProxy;
  /** Paid over. */
  readonly payouts: FaultProxy;
  #stopped = false;
  #paused = false;
  #mining: Promise<void>;

  private constructor(node: TokenChain, proxies: readonly [FaultProxy, FaultProxy, FaultProxy]) {
    this.node = node;
    [this.first, this.second, this.payouts] = proxies;
    this.#mining = this.#mine();
  }

  static async start(network: DrillNetworkName): Promise<DrillChain> {
    const node = await startTokenChain(network === 'bsc' ? { network, chainId: 31_338 } : { network });
    const proxy = () => FaultProxy.before(node.url);
    return new DrillChain(node, [await proxy(), await proxy(), await proxy()]);
  }

  /** Blocks come no more, or again. Resolves when the last one is made. */
  async pause(paused: boolean): Promise<void> {
    this.#paused = paused;
    if (paused) await sleep(2 * BLOCK_MS);
  }

  /** Gives the account coins and gas money. */
  async fund(address: string, wholeCoins: bigint, gasWei: bigint): Promise<void> {
    await this.node.rpc('anvil_setBalance', [address, `0x${gasWei.toString(16)}`]);
    for (const coin of ['USDT', 'USDC'] as const)
      if (wholeCoins > 0n) await this.node.send(coin, 'transfer', [address, wholeCoins * 10n ** 6n]);
  }

  /** A block now, with the time of now. */
  async block(): Promise<void> {
    await this.node.rpc('evm_mine', [`0x${Math.floor(Date.now() / 1000).toString(16)}`]);
  }

  heal(): void {
    for (const proxy of [this.first, this.second, this.payouts]) proxy.heal();
  }

  async close(): Promise<void> {
    this.#stopped = true;
    await this.#mining;
    await Promise.all([this.first, this.second, this.payouts].map((proxy) => proxy.close()));
    await this.node.close();
  }

  async #mine(): Promise<void> {
    while (!this.#stopped) {
      if (!this.#paused) await this.block().catch(() => undefined);
      await sleep(BLOCK_MS);
    }
  }
}

/** How the receiver answers webhooks; `hang`: never. */
export type ReceiverMood = number | 'hang';

/** Everything a drill can break, and what watches it. */
export class DrillWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'quittance-drills-'));
  /** Where the node ships its log to. */
  readonly shippedTo = join(this.folder, 'shipped');
  ethereum!: DrillChain;
  bsc!: DrillChain;
  coinbase!: PriceFeed;
  kraken!: PriceFeed;
  adminUrl = '';
  node!: NodeProcess;
  prometheus!: RunningPrometheus;
  mood: ReceiverMood = 200;
  /** Coins of which Kraken keeps past days. */
  keptDays: readonly string[] = DAYS_OF;
  #receiver!: Server;
  #orders = 0;

  static async start(): Promise<DrillWorld> {
    const world = new DrillWorld();
    try {
      await world.#start();
      return world;
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  /** A small pool of Solana addresses runs out at once. */
  settings({
    poolSize = ENOUGH_ADDRESSES,
    secondProvider = true,
    foreignWallet = false,
    canary = false,
    canaryLeaseTaken = false,
  } = {}): DrillNodeSettings {
    const networks = [this.ethereum, this.bsc].map(({ node, first, second, payouts }) => ({
      settings: node.settings,
      urls: secondProvider ? [first.url, second.url] : [first.url],
      payoutUrl: payouts.url,
    }));
    return {
      networks,
      poolSize,
      foreignWallet,
      secondSourceFrom: SECOND_SOURCE_FROM,
      canary,
      canaryLeaseTaken,
    };
  }

  /** Quotes as they should be; `apart`: how much dearer Kraken sells, as a ratio. */
  quote(apart = 1): void {
    const price = (value: number, by = 1): string => (value * by).toFixed(6);
    this.coinbase.answerJson(
      coinbaseJson({ USD: price(1), EUR: price(0.925) }, { USD: price(1.0001), EUR: price(0.925) }),
    );
    const ticker = krakenJson({
      USDTUSD: price(1),
      USDTEUR: price(0.925, apart),
      USDCUSD: price(1.0001),
      USDCEUR: price(0.925, apart),
      USDCUSDT: price(1),
    });
    this.kraken.answerJson((path) => {
      if (!path.includes('/OHLC')) return ticker();
      return this.keptDays.some((coin) => path.includes(`pair=${coin}EUR`))
        ? krakenCandlesJson('0.925', path)
        : { error: ['EQuery:Unknown asset pair'] };
    });
  }

  /** Ends the node in order and starts it with these settings. */
  async restart(settings = this.settings()): Promise<void> {
    await this.node.end('SIGTERM');
    await this.node.start(settings);
  }

  call(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const { base_url: base, merchant } = this.node.facts;
    return signedCall(base, merchant, method, path, body);
  }

  admin(command: string, args: Record<string, string | number | boolean>): Promise<unknown> {
    return callAdmin(this.node.dataDir, command, args);
  }

  /** A new order in the coin itself; answers its session. */
  async order(amount = '20.00', currency = 'USDT'): Promise<DrillSession> {
    this.#orders += 1;
    const { status, json } = await this.call('POST', '/api/v1/checkout/sessions/create', {
      amount,
      currency,
      order_id: `drill-${this.#orders}`,
    });
    if (status !== 200) throw new Error(`an order was answered ${status} ${json.error?.code}`);
    const options = json.payment_options as { network: string; coin: string; address: string; amount: string }[];
    return { id: String(json.id), options };
  }

  /** An order that is told of at once. */
  async cancelledOrder(): Promise<DrillSession> {
    const session = await this.order();
    await this.call('POST', `/api/v1/checkout/sessions/${session.id}/cancel`);
    return session;
  }

  /** Hands the transfer that pays the session to the chain's pool. */
  async transfer(session: DrillSession, network: DrillNetworkName): Promise<string> {
    const option = session.options.find((each) => each.network === network && each.coin === 'USDT')!;
    return this[network].node.send('USDT', 'transfer', [
      option.address,
      BigInt(Math.round(Number(option.amount) * 1e6)),
    ]);
  }

  async isPaid({ id }: DrillSession): Promise<boolean> {
    return (await this.call('GET', `/api/v1/checkout/sessions/${id}`)).json.payment_status === 'paid';
  }

  async paidOrder(network: DrillNetworkName, amount?: string): Promise<DrillSession> {
    const session = await this.order(amount);
    await this.transfer(session, network);
    await eventually('the payment', () => this.isPaid(session), 60_000);
    return session;
  }

  async close(): Promise<void> {
    await this.prometheus?.stop();
    await this.node?.end('SIGKILL');
    await Promise.all([this.ethereum?.close(), this.bsc?.close(), this.coinbase?.close(), this.kraken?.close()]);
    this.#receiver?.closeAllConnections();
    this.#receiver?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    [this.ethereum, this.bsc, this.coinbase, this.kraken] = await Promise.all([
      DrillChain.start('ethereum'),
      DrillChain.start('bsc'),
      startPriceFeed(),
      startPriceFeed(),
    ]);
    this.quote();
    await this.#receive();
    const [port, opsPort, adminPort] = await Promise.all([freePort(), freePort(), freePort()]);
    this.adminUrl = `http://127.0.0.1:${adminPort}`;
    const dataDir = join(this.folder, 'data');
    mkdirSync(dataDir);
    mkdirSync(this.shippedTo, { recursive: true });
    this.node = new NodeProcess(dataDir, {
      HOST: '127.0.0.1',
      PORT: String(port),
      OPS_PORT: String(opsPort),
      LOG_LEVEL: 'info',
      RATE_LIMIT_PER_KEY: '0',
      ADMIN_PORT: String(adminPort),
      ...{ CANARY_NETWORKS: 'bsc', CANARY_EVERY_SECONDS: '5', CANARY_MAX_OUT: '100' },
      ...{ RATE_PROVIDERS: 'coinbase,kraken', RATE_COINBASE_URL: this.coinbase.url, RATE_KRAKEN_URL: this.kraken.url },
      RATE_MAX_AGE_SECONDS: String(RATE_MAX_AGE_SEC),
      WEBHOOK_ALLOW_INSECURE: 'true',
      AUDIT_CHECKPOINT_SECONDS: '5',
      ...{ BOOK_RATES_CURRENCY: 'EUR', BOOK_RATES_EVERY_SECONDS: '2' },
      ...{ LOG_SHIPPING_TO: this.shippedTo, LOG_SHIPPING_EVERY_SECONDS: '1' },
    });
    await this.node.start(this.settings());
    const { bavail, bsize } = statfsSync(this.folder);
    this.prometheus = await startPrometheus(this.node.facts.ops_url, drillRules(bavail * bsize - GIGABYTE));
    await eventually('a first scrape', async () => (await this.prometheus.query('quittance_ready'))[0] === 1);
    await this.setWebhook();
    const { treasury } = this.node.facts;
    await Promise.all([this.ethereum, this.bsc].map((chain) => chain.fund(treasury, 1_500n, 10n ** 19n)));
  }

  async #receive(): Promise<void> {
    this.#receiver = createServer((request, response) => {
      request.resume().on('end', () => {
        if (this.mood !== 'hang') response.writeHead(this.mood).end();
      });
    });
    await new Promise<void>((done) => this.#receiver.listen(0, '127.0.0.1', done));
  }

  /** Sets the endpoint, also after it was suspended. */
  async setWebhook(): Promise<void> {
    const url = `http://127.0.0.1:${(this.#receiver.address() as AddressInfo).port}/hook?set=${Date.now()}`;
    await this.call('PATCH', '/v1/merchant', { webhook: { url } });
  }
}

export interface DrillSession {
  readonly id: string;
  readonly options: readonly {
    readonly network: string;
    readonly coin: string;
    readonly address: string;
    readonly amount: string;
  }[];
}
