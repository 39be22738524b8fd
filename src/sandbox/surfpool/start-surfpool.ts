import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { startGuarded, type GuardedProcess } from '../guarded-process.ts';
import { createRpc, type Rpc } from '../json-rpc.ts';
import type { KeyPayer, SandboxChain, SandboxChainUnavailable, SandboxPaid, SandboxPayment } from '../chain.ts';
import { withFrozenPayer } from '../frozen-payer.ts';
import { SolanaTestWallet, type SolanaTransfer } from './solana-test-wallet.ts';
import { findSurfpoolAddon } from './addon.ts';
import type { SurfpoolChildConfig, SurfpoolChildReport } from './child.ts';
import { TOKEN_DECIMALS, loadSolanaGenesis, type SolanaGenesis } from './genesis.ts';
import { within } from '../../runtime/util/within.ts';

export interface SurfpoolOptions {
  /** Stores keys and mints; the chain itself is new after each start. */
  readonly directory: string;
  /** Default: the addon for this platform. */
  readonly addonPath?: string | null;
}

/** The sandbox's Solana chain, with extras for tests. */
export interface SolanaSandbox extends SandboxChain {
  /** First block hash of the chain that ran here before and is gone. Null on the first start. */
  readonly previousGenesis: string | null;
  addressOf(payer: KeyPayer): string;
  /** 64 bytes: seed and public key. */
  secretKeyOf(payer: KeyPayer): Uint8Array;
  /** Several transfers in one transaction. */
  transfer(payer: KeyPayer, transfers: readonly SolanaTransfer[]): Promise<SandboxPaid>;
  /** Lands with an error and without effect. Surfpool does not support reorganisations. */
  payAndFail(payment: SandboxPayment): Promise<SandboxPaid>;
  sendNative(to: string, lamports: number): Promise<SandboxPaid>;
  fundTreasury(address: string): Promise<void>;
  /** Resolves when the node has ended, for whatever reason. */
  readonly ended: Promise<void>;
}

const START_TIMEOUT_MS = 20_000;

/** Starts Surfpool in a separate process: a real SVM with the real token programs, but no consensus and no forks. */
export async function startSurfpool(options: SurfpoolOptions): Promise<SolanaSandbox | SandboxChainUnavailable> {
  const addonPath = options.addonPath === undefined ? findSurfpoolAddon() : options.addonPath;
  if (addonPath === null) return unavailable(`there is no Surfpool for ${process.platform} ${process.arch} here`);
  mkdirSync(options.directory, { recursive: true });
  const genesis = loadSolanaGenesis(options.directory);
  const config: SurfpoolChildConfig = {
    addonPath,
    directory: options.directory,
  };
  const child = startGuarded(process.execPath, [join(import.meta.dirname, 'child.ts'), JSON.stringify(config)], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  });
  const report = await reportOf(child);
  if ('failure' in report) {
    await child.end();
    return unavailable(`Surfpool did not start: ${report.failure}`);
  }
  try {
    return await sandboxOf(child, report.url, genesis, options.directory);
  } catch (error) {
    await child.end();
    throw error;
  }
}

const unavailable = (reason: string): SandboxChainUnavailable => ({ network: 'solana', reason });

async function sandboxOf(
  child: Pick<GuardedProcess, 'ended' | 'end'>,
  url: string,
  genesis: SolanaGenesis,
  directory: string,
): Promise<SolanaSandbox> {
  const rpc = createRpc(url);
  const genesisHash = await rpc<string>('getGenesisHash');
  const settings: NetworkSettings = {
    network: 'solana',
    mode: 'test',
    chainId: genesisHash,
    tokens: [
      { coin: 'USDT', address: genesis.mints.USDT, decimals: TOKEN_DECIMALS },
      { coin: 'USDC', address: genesis.mints.USDC, decimals: TOKEN_DECIMALS },
    ],
    simulated: true,
    mainNetwork: false,
    explorerTransactionUrl: null,
    usualFinality: { blocks: 32, seconds: 4 },
  };
  const wallet = new SolanaTestWallet({ rpc, settings, seeds: genesis.payerSeeds });
  return {
    settings,
    rpcUrl: url,
    genesis: genesisHash,
    previousGenesis: replaceChainName(directory, genesisHash),
    pay: withFrozenPayer(
      (coin, frozen) => wallet.freeze('frozen', coin, frozen),
      (payment) => wallet.pay(payment),
    ),
    faults: null,
    exchangeAddress: wallet.addressOf('exchange'),
    addressOf: (payer) => wallet.addressOf(payer),
    secretKeyOf: (payer) => wallet.secretKeyOf(payer),
    transfer: (payer, transfers) => wallet.transfer(payer, transfers),
    payAndFail: (payment) => wallet.payAndFail(payment),
    sendNative: (to, lamports) => wallet.sendNative(to, lamports),
    fundTreasury: (address) => fundTreasury(address, wallet, rpc),
    ended: child.ended,
    close: () => child.end(),
  };
}

const TREASURY_LAMPORTS = 100_000_000_000;
/** Base units of each coin. */
const TREASURY_UNITS = 1_000_000n * 10n ** BigInt(TOKEN_DECIMALS);

async function fundTreasury(address: string, wallet: SolanaTestWallet, rpc: Rpc): Promise<void> {
  // Gas money and tokens are added together, so one implies the other.
  if ((await rpc<{ value: number }>('getBalance', [address])).value > TREASURY_LAMPORTS / 2) return;
  await wallet.transfer('second', [
    { to: address, coin: 'USDT', units: TREASURY_UNITS },
    { to: address, coin: 'USDC', units: TREASURY_UNITS },
  ]);
  await wallet.sendNative(address, TREASURY_LAMPORTS);
}

/** Records the running chain and returns the previous one. */
function replaceChainName(directory: string, genesisHash: string): string | null {
  const file = join(directory, 'chain');
  const previous = existsSync(file) ? readFileSync(file, 'utf8') : null;
  writeFileSync(file, genesisHash);
  return previous;
}

/** The child's first line, or why there is none. */
async function reportOf(child: GuardedProcess): Promise<SurfpoolChildReport> {
  const lines = createInterface({ input: child.stdout });
  const said = new Promise<SurfpoolChildReport>((resolve) =>
    lines.once('line', (line) => resolve(JSON.parse(line) as SurfpoolChildReport)),
  );
  const ended = child.ended.then((): SurfpoolChildReport => ({ failure: 'its process ended at once' }));
  const report = await within(START_TIMEOUT_MS, Promise.race([said, ended]), () => ({
    failure: `no answer in ${START_TIMEOUT_MS} ms`,
  }));
  lines.close();
  child.stdout.resume();
  return report;
}
