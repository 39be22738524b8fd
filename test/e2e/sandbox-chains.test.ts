import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Interface, Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Network, tokenOf } from '../../src/domain/networks/networks.ts';
import { silentLog } from '../../src/ports/log.ts';
import { findAnvil } from '../../src/sandbox/anvil-binary.ts';
import { createRpc, type Rpc } from '../../src/sandbox/json-rpc.ts';
import { loadPayerKeys } from '../../src/sandbox/payer-keys.ts';
import type { SandboxChain } from '../../src/sandbox/chain.ts';
import { startEvmSandboxChain } from '../../src/sandbox/evm-sandbox-chain.ts';
import { EVM_STARTERS, startSandboxChains, type SandboxChains } from '../../src/sandbox/chains.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Block {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: string;
  readonly transactions: readonly string[];
}
interface Receipt {
  readonly status: string;
  readonly blockNumber: string;
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
}

const ERC20 = new Interface([
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'function isBlackListed(address) view returns (bool)',
  'function isBlacklisted(address) view returns (bool)',
]);
const MNEMONIC = 'test test test test test test test test test test test junk';
const freshAddress = (): string => Wallet.createRandom().address;
const rpcOf = (chain: SandboxChain): Rpc => createRpc(chain.rpcUrl);
const blockAt = (rpc: Rpc, tag: string): Promise<Block> => rpc('eth_getBlockByNumber', [tag, false]);
const receiptOf = (rpc: Rpc, hash: string): Promise<Receipt | null> => rpc('eth_getTransactionReceipt', [hash]);

async function view(
  chain: SandboxChain,
  coin: 'USDT' | 'USDC',
  name: 'balanceOf' | 'decimals' | 'isBlackListed' | 'isBlacklisted',
  args: unknown[] = [],
): Promise<bigint> {
  const data = ERC20.encodeFunctionData(name, args);
  return BigInt(
    await rpcOf(chain)<string>('eth_call', [{ to: tokenOf(chain.settings, coin)!.address, data }, 'latest']),
  );
}

async function until<Value>(probe: () => Promise<Value | null | false>): Promise<Value> {
  for (;;) {
    const value = await probe();
    if (value !== null && value !== false) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
const allGone = (pids: readonly number[]): Promise<boolean> => until(async () => !pids.some(isAlive));

/** Every process that descends from `root`, also over sessions and process groups. */
function descendantsOf(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(/^\d+ \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))![1]));
    } catch {
      continue;
    }
  }
  const found = [root];
  for (let i = 0; i < found.length; i += 1)
    found.push(...[...parents].filter(([, parent]) => parent === found[i]).map(([pid]) => pid));
  return found.slice(1);
}
const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
const nodesOf = (pids: readonly number[]): number[] =>
  pids.filter((pid) => /anvil --host/.test(commandOf(pid)) && !commandOf(pid).startsWith('/bin/sh'));

let dataDir: string;
beforeEach(() => {
  dataDir = temporaryFolder('sandbox');
});

describe('the sandbox chains', () => {
  let directory: string;
  let sandbox: SandboxChains;
  const chainOf = (network: Network): SandboxChain =>
    sandbox.chains.find(({ settings }) => settings.network === network)!;
  beforeAll(async () => {
    directory = temporaryFolder('sandbox');
    sandbox = await startSandboxChains({ dataDir: directory, log: silentLog });
  });
  afterAll(() => sandbox?.close());

  it('are both there, on ids of no main network, with the decimals they claim', async () => {
    expect(sandbox.unavailable).toEqual([]);
    for (const [network, chainId, decimals] of [
      ['ethereum', 31_337, 6],
      ['bsc', 31_338, 18],
    ] as const) {
      const chain = chainOf(network);
      expect(chain.settings).toMatchObject({
        network,
        mode: 'test',
        chainId: String(chainId),
        mainNetwork: false,
        simulated: true,
      });
      expect(Number(await rpcOf(chain)<string>('eth_chainId'))).toBe(chainId);
      for (const coin of ['USDT', 'USDC'] as const) expect(Number(await view(chain, coin, 'decimals'))).toBe(decimals);
      expect(chain.settings.tokens.map((token) => token.decimals)).toEqual([decimals, decimals]);
    }
  });

  it('listen on this machine only', () => {
    for (const chain of sandbox.chains) expect(chain.rpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('hold none of the well-known keys', async () => {
    const known = Wallet.fromPhrase(MNEMONIC).address;
    for (const chain of sandbox.chains) {
      expect(await rpcOf(chain)('eth_accounts')).toEqual([]);
      expect(Number(await rpcOf(chain)<string>('eth_getBalance', [known, 'latest']))).toBe(0);
    }
  });

  it.each([
    ['ethereum', 'USDT', '12.5', 12_500_000n],
    ['ethereum', 'USDC', '0.000001', 1n],
    ['bsc', 'USDT', '12.5', 12_500_000_000_000_000_000n],
    ['bsc', 'USDC', '0.000000000000000001', 1n],
  ] as const)('pay on %s in %s', async (network, coin, amount, units) => {
    const chain = chainOf(network);
    const to = freshAddress();
    const paid = await sandbox.pay(network, { coin, to, amount });
    expect(await view(chain, coin, 'balanceOf', [to])).toBe(units);
    const receipt = (await receiptOf(rpcOf(chain), paid.txHash))!;
    const log = ERC20.parseLog({ topics: [...receipt.logs[0]!.topics], data: receipt.logs[0]!.data })!;
    expect([log.args[0], log.args[1], log.args[2]]).toEqual([paid.fromAddress, to, units]);
    expect(receipt.logs[0]!.address.toLowerCase()).toBe(tokenOf(chain.settings, coin)!.address.toLowerCase());
  });

  it('pay many times at once, from two payers, without losing one', async () => {
    const to = freshAddress();
    const payments = Array.from({ length: 60 }, (_, i) =>
      sandbox.pay(i % 2 ? 'ethereum' : 'bsc', {
        coin: 'USDT',
        to,
        amount: '1.000001',
        payer: i % 3 ? 'first' : 'second',
      }),
    );
    const paid = await Promise.all(payments);
    expect(new Set(paid.map(({ txHash }) => txHash)).size).toBe(60);
    expect(new Set(paid.map(({ fromAddress }) => fromAddress)).size).toBe(4);
    expect(await view(chainOf('ethereum'), 'USDT', 'balanceOf', [to])).toBe(30n * 1_000_001n);
  });

  it('refuse an impossible payment and say why', async () => {
    const to = freshAddress();
    const bad = [
      { coin: 'USDT', to, amount: '0' },
      { coin: 'USDT', to, amount: '-1' },
      { coin: 'USDT', to, amount: '1e3' },
      { coin: 'USDT', to, amount: '0.0000001' },
      { coin: 'USDT', to: 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6', amount: '1' },
    ] as const;
    for (const payment of bad)
      await expect(sandbox.pay('ethereum', payment)).rejects.toMatchObject({ name: 'SandboxPaymentFailed' });
    await expect(sandbox.pay('solana', { coin: 'USDT', to, amount: '1' })).rejects.toThrow('does not run');
    expect((await sandbox.pay('ethereum', { coin: 'USDT', to, amount: '1' })).txHash).toMatch(/^0x/);
  });

  it('make blocks automatically, never ahead of the clock, and finalise them', async () => {
    const rpc = rpcOf(chainOf('ethereum'));
    const { txHash } = await sandbox.pay('ethereum', { coin: 'USDC', to: freshAddress(), amount: '1' });
    const paidIn = Number((await receiptOf(rpc, txHash))!.blockNumber);
    await until(async () => Number((await blockAt(rpc, 'finalized')).number) >= paidIn);
    await until(async () => Number((await blockAt(rpc, 'latest')).number) >= paidIn + 12);
    let previous: Block | null = null;
    for (let number = paidIn; number <= paidIn + 12; number += 1) {
      const block = await blockAt(rpc, `0x${number.toString(16)}`);
      expect(Number(block.timestamp)).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
      if (previous) {
        expect(block.parentHash).toBe(previous.hash);
        expect(Number(block.timestamp)).toBeGreaterThanOrEqual(Number(previous.timestamp));
      }
      previous = block;
    }
  });

  it('accept transactions from others', async () => {
    const rpc = rpcOf(chainOf('bsc'));
    const stranger = Wallet.createRandom();
    await rpc('anvil_setBalance', [stranger.address, '0xde0b6b3a7640000']);
    const raw = await stranger.signTransaction({
      to: freshAddress(),
      value: 1n,
      chainId: 31_338,
      nonce: 0,
      gasLimit: 21_000,
      gasPrice: 10n ** 10n,
      type: 0,
    });
    const hash = await rpc<string>('eth_sendRawTransaction', [raw]);
    expect((await until(() => receiptOf(rpc, hash))).status).toBe('0x1');
  });

  it.each(['USDT', 'USDC'] as const)(
    'pays from a contract, and from a payer who is frozen then, in %s',
    async (coin) => {
      const chain = chainOf('bsc');
      const to = freshAddress();
      const { fromAddress } = await sandbox.pay('bsc', { coin, to, amount: '2', payer: 'contract' });
      expect(await rpcOf(chain)('eth_getCode', [fromAddress, 'latest'])).not.toBe('0x');
      const isFrozen = coin === 'USDT' ? 'isBlackListed' : 'isBlacklisted';
      for (let time = 0; time < 2; time += 1) {
        const frozen = await sandbox.pay('bsc', { coin, to, amount: '1', payer: 'frozen' });
        expect(await view(chain, coin, isFrozen, [frozen.fromAddress])).toBe(1n);
      }
      expect(await view(chain, coin, 'balanceOf', [to])).toBe(4n * 10n ** 18n);
    },
  );

  it('can fail a payment on chain', async () => {
    const chain = chainOf('bsc');
    const to = freshAddress();
    const { txHash } = await sandbox.pay('bsc', { coin: 'USDT', to, amount: '1' }, 'payAndFail');
    expect(await receiptOf(rpcOf(chain), txHash)).toMatchObject({ status: '0x0', logs: [] });
    expect(await view(chain, 'USDT', 'balanceOf', [to])).toBe(0n);
  });
});

describe('a reorganisation', () => {
  let chain: SandboxChain;
  let rpc: Rpc;
  beforeEach(async () => {
    const payerKeys = loadPayerKeys(join(dataDir, 'payers.key'));
    chain = (await startEvmSandboxChain('ethereum', {
      directory: join(dataDir, 'ethereum'),
      payerKeys,
      log: silentLog,
      seenMs: 300,
    })) as SandboxChain;
    rpc = rpcOf(chain);
  });
  afterEach(() => chain.close());

  /** Watches the head until the payment is seen, and answers the block that held it. */
  async function seen(to: string): Promise<Block> {
    await until(async () => (await view(chain, 'USDT', 'balanceOf', [to])) > 0n);
    return blockAt(rpc, 'latest');
  }

  it('moves a payment from its block into a later one', async () => {
    const to = freshAddress();
    const paying = chain.faults!.payThenReorg({ coin: 'USDT', to, amount: '3' });
    const first = await seen(to);
    const { txHash } = await paying;
    const receipt = (await receiptOf(rpc, txHash))!;
    expect(first.transactions).toContain(txHash);
    expect(Number(receipt.blockNumber)).toBeGreaterThan(Number(first.number));
    expect((await blockAt(rpc, first.number)).hash).not.toBe(first.hash);
    expect(await view(chain, 'USDT', 'balanceOf', [to])).toBe(3_000_000n);
  });

  it('can lose a payment permanently: another transaction takes its place', async () => {
    const to = freshAddress();
    const paying = chain.faults!.payThenLose({ coin: 'USDT', to, amount: '3' });
    await seen(to);
    const { txHash, fromAddress } = await paying;
    expect(await receiptOf(rpc, txHash)).toBeNull();
    expect(await view(chain, 'USDT', 'balanceOf', [to])).toBe(0n);
    const next = await chain.pay({ coin: 'USDT', to, amount: '1' });
    expect(next.fromAddress).toBe(fromAddress);
    expect(next.txHash).not.toBe(txHash);
    expect(await view(chain, 'USDT', 'balanceOf', [to])).toBe(1_000_000n);
  });

  it('keeps the payments of others made at the same time', async () => {
    const [to, other] = [freshAddress(), freshAddress()];
    const paying = chain.faults!.payThenLose({ coin: 'USDT', to, amount: '3' });
    const others = Promise.all(
      Array.from({ length: 5 }, () => chain.pay({ coin: 'USDT', to: other, amount: '1', payer: 'second' })),
    );
    await paying;
    await others;
    expect(await view(chain, 'USDT', 'balanceOf', [other])).toBe(5_000_000n);
  });

  it('is kept over a restart like everything else', async () => {
    const { txHash } = await chain.faults!.payThenReorg({ coin: 'USDT', to: freshAddress(), amount: '3' });
    const head = await blockAt(rpc, 'latest');
    await chain.close();
    const payerKeys = loadPayerKeys(join(dataDir, 'payers.key'));
    chain = (await startEvmSandboxChain('ethereum', {
      directory: join(dataDir, 'ethereum'),
      payerKeys,
      log: silentLog,
    })) as SandboxChain;
    rpc = rpcOf(chain);
    expect((await blockAt(rpc, head.number)).hash).toBe(head.hash);
    expect((await receiptOf(rpc, txHash))!.status).toBe('0x1');
  });
});

describe('after a restart', () => {
  const open: SandboxChains[] = [];
  const start = async (): Promise<SandboxChains> => {
    const sandbox = await startSandboxChains({ dataDir, log: silentLog, starters: { bsc: EVM_STARTERS.bsc! } });
    open.push(sandbox);
    return sandbox;
  };
  afterEach(() => Promise.all(open.splice(0).map((sandbox) => sandbox.close())));

  it('the chain is the same: first block, receipts, logs, balances, tokens', async () => {
    const before = await start();
    const to = freshAddress();
    const { txHash, fromAddress } = await before.pay('bsc', { coin: 'USDC', to, amount: '7' });
    const [chain] = before.chains;
    const receipt = await receiptOf(rpcOf(chain!), txHash);
    await before.close();

    const after = await start();
    const [again] = after.chains;
    expect(again!.genesis).toBe(chain!.genesis);
    expect(again!.settings).toEqual(chain!.settings);
    expect(await receiptOf(rpcOf(again!), txHash)).toEqual(receipt);
    const filter = {
      fromBlock: '0x0',
      toBlock: 'latest',
      address: tokenOf(again!.settings, 'USDC')!.address,
      topics: [null, null, `0x${to.slice(2).toLowerCase().padStart(64, '0')}`],
    };
    expect(await rpcOf(again!)<unknown[]>('eth_getLogs', [filter])).toEqual(receipt!.logs);
    expect(await view(again!, 'USDC', 'balanceOf', [to])).toBe(7n * 10n ** 18n);
    expect((await after.pay('bsc', { coin: 'USDC', to, amount: '1' })).fromAddress).toBe(fromAddress);
  });

  it('a line that a kill cut short costs nothing else', async () => {
    const before = await start();
    const { txHash } = await before.pay('bsc', { coin: 'USDT', to: freshAddress(), amount: '7' });
    await before.close();
    appendFileSync(join(dataDir, 'chains', 'bsc', 'blocks.jsonl'), '{"number":99999,"ha');
    const after = await start();
    expect((await receiptOf(rpcOf(after.chains[0]!), txHash))!.status).toBe('0x1');
  });

  it('files that cannot be read give a new chain, which says so by its first block', async () => {
    const before = await start();
    await before.close();
    writeFileSync(join(dataDir, 'chains', 'bsc', 'state.json'), '{"half":');
    const after = await start();
    expect(after.chains[0]!.genesis).not.toBe(before.chains[0]!.genesis);
    expect(after.chains[0]!.settings).toEqual(before.chains[0]!.settings);
    expect((await after.pay('bsc', { coin: 'USDT', to: freshAddress(), amount: '1' })).txHash).toMatch(/^0x/);
  });

  it('payers of another data directory differ, and their key file is private', async () => {
    const one = loadPayerKeys(join(dataDir, 'one.key'));
    expect(loadPayerKeys(join(dataDir, 'one.key'))('x')).toEqual(one('x'));
    expect(loadPayerKeys(join(dataDir, 'two.key'))('x')).not.toEqual(one('x'));
    expect(one('y')).not.toEqual(one('x'));
    expect(statSync(join(dataDir, 'one.key')).mode & 0o777).toBe(0o600);
  });
});

describe('a node', () => {
  const cadence = { busyMs: 20, idleMs: 20, busyBlocks: 0, blocksPerRun: 60 };
  const startBsc = async (changes: Partial<typeof cadence> = {}): Promise<SandboxChain> => {
    const payerKeys = loadPayerKeys(join(dataDir, 'payers.key'));
    return (await startEvmSandboxChain('bsc', {
      directory: join(dataDir, 'bsc'),
      payerKeys,
      log: silentLog,
      cadence: { ...cadence, ...changes },
    })) as SandboxChain;
  };

  it('that is killed comes back at the same address with the same chain', async () => {
    const chain = await startBsc({ blocksPerRun: 1e9 });
    try {
      const rpc = rpcOf(chain);
      const { txHash } = await chain.pay({ coin: 'USDT', to: freshAddress(), amount: '7' });
      const head = await blockAt(rpc, 'latest');
      const [node] = nodesOf(descendantsOf(process.pid));
      process.kill(node!, 'SIGKILL');
      await allGone([node!]);
      const again = await until(() => blockAt(rpc, head.number).catch(() => null));
      expect(again.hash).toBe(head.hash);
      expect((await receiptOf(rpc, txHash))!.status).toBe('0x1');
      await until(async () => Number((await blockAt(rpc, 'latest')).number) > Number(head.number) + 2);
    } finally {
      await chain.close();
    }
  });

  it('is replaced before it grows too large, and forgets only old empty blocks', async () => {
    const chain = await startBsc();
    try {
      const rpc = rpcOf(chain);
      const [first] = nodesOf(descendantsOf(process.pid));
      const { txHash } = await chain.pay({ coin: 'USDT', to: freshAddress(), amount: '7' });
      await until(async () => nodesOf(descendantsOf(process.pid)).some((pid) => pid !== first) && !isAlive(first!));
      expect((await until(() => receiptOf(rpc, txHash).catch(() => null))).status).toBe('0x1');
      expect(nodesOf(descendantsOf(process.pid))).toHaveLength(1);
    } finally {
      await chain.close();
    }
  });
});

describe('what is not available', () => {
  it('is named with its reason and leaves the other networks alone', async () => {
    const sandbox = await startSandboxChains({
      dataDir,
      log: silentLog,
      starters: {
        bsc: EVM_STARTERS.bsc!,
        tron: async () => ({ network: 'tron', reason: 'not installed' }),
        solana: async () => Promise.reject(new Error('exploded')),
      },
    });
    try {
      expect(sandbox.chains.map(({ settings }) => settings.network)).toEqual(['bsc']);
      expect(sandbox.unavailable).toEqual([
        { network: 'tron', reason: 'not installed' },
        { network: 'solana', reason: 'exploded' },
      ]);
      await expect(sandbox.pay('tron', { coin: 'USDT', to: freshAddress(), amount: '1' })).rejects.toThrow(
        'does not run',
      );
    } finally {
      await sandbox.close();
    }
  });

  it('is not found where there is neither the package nor a command', () => {
    const folder = join(dataDir, 'bin');
    expect(findAnvil({ PATH: folder })).toMatch(/anvil-linux-amd64/);
    expect(findAnvil({ PATH: folder }, null)).toBeNull();
    expect(findAnvil({ PATH: join(import.meta.dirname, '..', '..', 'node_modules', '.bin') }, null)).toMatch(
      /\.bin\/anvil$/,
    );
  });
});

describe('the process that started the chains', () => {
  /** Starts chains and signer as the service does: the secrets leave the environment first. */
  const PARENT = `
    const at = (path) => import(new URL(path, ${JSON.stringify(new URL('../../src/', import.meta.url).href)}).href);
    const { takeWalletSources } = await at('adapters/signer/wallet-sources.ts');
    const { startSignerProcess } = await at('adapters/signer/process.ts');
    const { startSandboxChains } = await at('sandbox/chains.ts');
    const { silentLog: log } = await at('ports/log.ts');
    const dataDir = process.env.DATA_DIR;
    const wallets = takeWalletSources(process.env);
    if (!wallets.test) wallets.test = { kind: 'sandbox', directory: dataDir + '/wallet' };
    const signer = await startSignerProcess({ directory: dataDir, wallets, log });
    const sandbox = await startSandboxChains({ dataDir, log });
    process.on('SIGTERM', async () => { await sandbox.close(); await signer.close(); process.exit(0); });
    const secretInside = Object.values(process.env).some((value) => value.includes('junk'));
    process.stdout.write(JSON.stringify({ urls: sandbox.chains.map(({ rpcUrl }) => rpcUrl), secretInside, xpub: (await signer.exportWatchOnly('test', 0)).evmXpub }) + '\\n');
  `;
  interface Started {
    readonly urls: readonly string[];
    readonly secretInside: boolean;
    readonly xpub: string;
  }
  let parent: ChildProcess | null = null;
  let pids: number[] = [];

  async function startParent(env: Record<string, string> = {}): Promise<Started> {
    parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, DATA_DIR: dataDir, ...env },
    });
    const [line] = (await once(parent.stdout!, 'data')) as [Buffer];
    pids = descendantsOf(parent.pid!);
    return JSON.parse(line.toString()) as Started;
  }
  afterEach(async () => {
    parent?.kill('SIGKILL');
    for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
    await allGone(pids);
    // The system may give their numbers to other processes.
    [parent, pids] = [null, []];
  });

  it('takes all other processes down with it when it is killed', async () => {
    await startParent();
    expect(nodesOf(pids)).toHaveLength(2);
    expect(pids.filter((pid) => /signer\/main\.ts/.test(commandOf(pid)))).toHaveLength(1);
    parent!.kill('SIGKILL');
    expect(await allGone(pids)).toBe(true);
  });

  it('leaves nothing behind when it ends normally', async () => {
    await startParent();
    parent!.kill('SIGTERM');
    await once(parent!, 'exit');
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('loses no block when everything is killed at once', async () => {
    const { urls, xpub } = await startParent();
    const rpc = createRpc(urls[1]!);
    await until(async () => Number((await blockAt(rpc, 'latest')).number) >= 8);
    const head = await blockAt(rpc, 'latest');
    for (const pid of [parent!.pid!, ...pids]) process.kill(pid, 'SIGKILL');
    await allGone(pids);
    const again = await startParent();
    expect((await blockAt(createRpc(again.urls[1]!), head.number)).hash).toBe(head.hash);
    expect(again.xpub).toBe(xpub);
  });

  it('keeps the secrets of its environment from its own code and from every process but the signer', async () => {
    const { secretInside } = await startParent({ TEST_WALLET_MNEMONIC: MNEMONIC });
    expect(secretInside).toBe(false);
    for (const pid of pids) {
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('junk');
      expect(commandOf(pid)).not.toContain('junk');
    }
  });

  it('cannot take them back from the system, which is why keystore files exist', async () => {
    await startParent({ TEST_WALLET_MNEMONIC: MNEMONIC });
    expect(readFileSync(`/proc/${parent!.pid!}/environ`, 'utf8')).toContain(MNEMONIC);
    expect(statSync(`/proc/${parent!.pid!}/environ`).mode & 0o077).toBe(0);
  });
});
