import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeMint2Instruction,
  createMintToInstruction,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import type { RangeScanned } from '../../src/domain/events/operations-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { AddressHistory } from '../../src/ports/chain/address-safety.ts';
import type { AccountChain } from '../../src/ports/chain/account-chain.ts';
import { SolanaWatcher } from '../../src/features/deposits/solana/watch.process.ts';
import { WatchedOwners } from '../../src/features/deposits/solana/owners.ts';
import { createRpc, RpcRefused } from '../../src/sandbox/json-rpc.ts';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { startSurfpool, type SolanaSandbox } from '../../src/sandbox/surfpool/start-surfpool.ts';
import { descendantsOf, isRunning } from '../support/processes.ts';
import { ToldDeposits, until } from '../support/watching.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folders: string[] = [];
const folder = (): string => {
  const path = temporaryFolder('solana');
  folders.push(path);
  return path;
};
afterAll(() => {});

async function start(directory: string): Promise<SolanaSandbox> {
  const sandbox = await startSurfpool({ directory });
  if ('reason' in sandbox) throw new Error(sandbox.reason);
  return sandbox;
}

const chainOf = (sandbox: SolanaSandbox): AccountChain & AddressHistory =>
  createSolanaChain({
    settings: sandbox.settings,
    pool: createRpcPool({ network: 'solana', urls: [sandbox.rpcUrl], maxLagBlocks: 50 }),
  });

describe('without Surfpool for the platform', () => {
  it('Solana is reported unavailable and nothing replaces it', async () => {
    expect(findSurfpoolAddon('win32', 'x64')).toBeNull();
    expect(findSurfpoolAddon('linux', 'arm64')).toBeNull();
    expect(await startSurfpool({ directory: folder(), addonPath: null })).toMatchObject({
      network: 'solana',
      reason: expect.stringContaining('no Surfpool') as string,
    });
    const broken = await startSurfpool({ directory: folder(), addonPath: '/nowhere/surfpool.node' });
    expect(broken).toMatchObject({ network: 'solana', reason: expect.stringContaining('did not start') as string });
  });
});

describe.skipIf(findSurfpoolAddon() === null)('the Solana sandbox', () => {
  let sandbox: SolanaSandbox;
  let chain: AccountChain & AddressHistory;

  beforeAll(async () => {
    sandbox = await start(folder());
    chain = chainOf(sandbox);
    await chain.verify();
  });
  afterAll(async () => {
    await chain.close();
    await sandbox.close();
  });

  it('names a chain of its own with classic mints of six decimals', () => {
    expect(sandbox.settings).toMatchObject({
      network: 'solana',
      mode: 'test',
      simulated: true,
      mainNetwork: false,
      chainId: sandbox.genesis,
    });
    expect(sandbox.settings.tokens.map(({ coin, decimals }) => [coin, decimals])).toEqual([
      ['USDT', 6],
      ['USDC', 6],
    ]);
  });

  it('gives a treasury SOL and coins', async () => {
    const rpc = createRpc(sandbox.rpcUrl);
    const treasury = Keypair.generate().publicKey.toBase58();
    await sandbox.fundTreasury(treasury);
    const { units } = await chain.balances(chain.tokenAccountsOf(treasury));
    const { value } = await rpc<{ value: number }>('getBalance', [treasury, { commitment: 'confirmed' }]);
    expect(value).toBeGreaterThanOrEqual(1_000_000_000);
    for (const held of units) expect(held).toBeGreaterThanOrEqual(1_000_000_000_000n);
  });

  it('knows which owners were ever paid', async () => {
    const [paid, unused] = [Keypair.generate(), Keypair.generate()].map(({ publicKey }) => publicKey.toBase58()) as [
      string,
      string,
    ];
    await sandbox.pay({ coin: 'USDC', amount: '0.5', to: paid });
    expect(await chain.usedAmong([unused, paid])).toEqual(new Set([paid]));
  });

  describe('watched', () => {
    const owners = new WatchedOwners('test');
    const deposits = new ToldDeposits();
    const ranges: RangeScanned['data'][] = [];
    const troubles: unknown[] = [];
    let watcher: SolanaWatcher;

    beforeAll(async () => {
      watcher = new SolanaWatcher(
        {
          chain,
          owners,
          addresses: { sessionOf: (owner) => owners.find(owner)?.sessionId ?? null },
          deposits: deposits.commands,
          coverage: { lastCovered: async () => null, record: async (range) => void ranges.push(range) },
          clock: { nowMs: Date.now },
          finalityRuleOf: () => ({ kind: 'finalized' }),
          pendingDeposits: async () => [],
          observer: {
            onTrouble: ({ error }) => troubles.push(error),
            onAnomaly: (anomaly) => troubles.push(anomaly.kind),
          },
        },
        { pollIntervalMs: 100, coverageIntervalMs: 500 },
      );
      await watcher.start();
    });
    afterAll(() => watcher.stop());

    function session(name: string): { owner: string; sessionId: SessionId } {
      const given = { owner: Keypair.generate().publicKey.toBase58(), sessionId: `cs_${name}` as SessionId };
      const nowSec = Math.floor(Date.now() / 1000);
      owners.add({ ...given, createdAtSec: nowSec, expiresAtSec: nowSec + 1_800, endedAtSec: null });
      return given;
    }
    const told = (sessionId: SessionId): string[] => deposits.lines.filter((line) => line.includes(` ${sessionId} `));

    it('a payment is seen, its payer found, and it becomes final', async () => {
      const { owner, sessionId } = session('plain');
      const paid = await sandbox.pay({ coin: 'USDC', to: owner, amount: '12.345678' });
      await until('seen', () => told(sessionId).length >= 1);
      expect(deposits.facts.find(({ toAddress }) => toAddress === owner)).toMatchObject({
        coin: 'USDC',
        amount: '12.345678',
        fromAddress: sandbox.addressOf('first'),
        txHash: paid.txHash,
        network: 'solana',
      });
      await until('final', () => told(sessionId).length === 2);
      expect(told(sessionId)[1]).toMatch(new RegExp(`^confirm ${sessionId} solana:${paid.txHash}:\\d+$`));
    });

    it('several payments of several payers each count once', async () => {
      const { owner, sessionId } = session('several');
      await sandbox.pay({ coin: 'USDT', to: owner, amount: '1' });
      await sandbox.pay({ coin: 'USDT', to: owner, amount: '1', payer: 'second' });
      await sandbox.pay({ coin: 'USDC', to: owner, amount: '3' });
      await until(
        'all final',
        () => told(sessionId).filter((line) => line.startsWith('confirm')).length === 3,
        () => [told(sessionId), watcher.status(), troubles.map(String)],
      );
      const seen = deposits.facts
        .filter(({ toAddress }) => toAddress === owner)
        .map(({ coin, amount, fromAddress }) => `${amount} ${coin} ${fromAddress}`);
      expect(seen.sort()).toEqual(
        [
          `1.00 USDT ${sandbox.addressOf('first')}`,
          `1.00 USDT ${sandbox.addressOf('second')}`,
          `3.00 USDC ${sandbox.addressOf('first')}`,
        ].sort(),
      );
      expect(told(sessionId)).toHaveLength(6);
    });

    it('two transfers in one transaction reach two sessions', async () => {
      const one = session('one');
      const other = session('other');
      const paid = await sandbox.transfer('first', [
        { to: one.owner, coin: 'USDT', units: 1_000_000n },
        { to: other.owner, coin: 'USDT', units: 2_000_000n },
        { to: other.owner, coin: 'USDT', units: 500_000n },
      ]);
      await until('both final', () => told(one.sessionId).length === 2 && told(other.sessionId).length === 2);
      expect(told(one.sessionId)[0]).toBe(`record ${one.sessionId} ${paid.txHash} 1.00 USDT`);
      expect(told(other.sessionId)[0]).toBe(`record ${other.sessionId} ${paid.txHash} 2.50 USDT`);
    });

    it('a failed transaction and tokens that are not ours count for nothing', async () => {
      const { owner, sessionId } = session('nothing');
      const failed = await sandbox.payAndFail({ coin: 'USDT', to: owner, amount: '5' });
      await mintStrange(sandbox, owner, TOKEN_PROGRAM_ID);
      await mintStrange(sandbox, owner, TOKEN_2022_PROGRAM_ID);
      await sandbox.sendNative(owner, 1_000_000);
      const paid = await sandbox.pay({ coin: 'USDT', to: owner, amount: '5' });
      await until('the real one is final', () => told(sessionId).length === 2);
      expect(told(sessionId)[0]).toBe(`record ${sessionId} ${paid.txHash} 5.00 USDT`);
      for (const index of [0, 1, 2, 3]) expect(await chain.transferAt(failed.txHash, index)).toBeNull();
    });

    it('the confirmed read time follows the chain, and the evidence follows finality', async () => {
      const before = watcher.scannedToSec()!;
      await until('time moves', () => watcher.scannedToSec()! > before + 1);
      expect(Math.abs(watcher.scannedToSec()! - Date.now() / 1000)).toBeLessThan(60);
      await until('evidence', () => ranges.length >= 2);
      for (const [index, range] of ranges.entries())
        if (index > 0) expect(range.fromBlock).toBe(ranges[index - 1]!.toBlock + 1);
      expect(watcher.status()).toMatchObject({ consecutiveFailures: 0, trackedDeposits: 0 });
    });
  });

  describe('answers as Agave does where Surfpool does not', () => {
    const rpc = <Result>(method: string, params: readonly unknown[] = []): Promise<Result> =>
      createRpc(sandbox.rpcUrl)<Result>(method, params);

    it('shows transactions and signatures only as far as the commitment asked for', async () => {
      const owner = Keypair.generate().publicKey.toBase58();
      const { txHash } = await sandbox.pay({ coin: 'USDT', to: owner, amount: '1' });
      const [account] = chain.tokenAccountsOf(owner);
      const show = async (commitment: string): Promise<[boolean, number]> => [
        (await rpc('getTransaction', [txHash, { commitment, encoding: 'json', maxSupportedTransactionVersion: 1 }])) !==
          null,
        (await rpc<unknown[]>('getSignaturesForAddress', [account!.account, { commitment }])).length,
      ];
      expect(await show('confirmed')).toEqual([true, 1]);
      const { slot } = await rpc<{ slot: number }>('getTransaction', [
        txHash,
        { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 1 },
      ]);
      if ((await rpc<number>('getSlot')) < slot) expect(await show('finalized')).toEqual([false, 0]);
      await until('finalized', async () => (await rpc<number>('getSlot')) >= slot);
      expect(await show('finalized')).toEqual([true, 1]);
      await expect(show('processed')).rejects.toThrow(/commitment below `confirmed`/);
    });

    it('gives transactions and blocks the time of their slot', async () => {
      const { txHash } = await sandbox.pay({ coin: 'USDT', to: Keypair.generate().publicKey.toBase58(), amount: '1' });
      const options = { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 1 };
      const transaction = await rpc<{ slot: number; blockTime: number }>('getTransaction', [txHash, options]);
      const block = await rpc<{ blockTime: number }>('getBlock', [
        transaction.slot,
        { ...options, transactionDetails: 'none', rewards: false },
      ]);
      expect(Math.abs(transaction.blockTime - Date.now() / 1000)).toBeLessThan(60);
      expect(block.blockTime).toBe(transaction.blockTime);
    });

    it('refuses a version that the caller did not ask for, and a slot that is not there yet', async () => {
      const connection = new Connection(sandbox.rpcUrl, 'confirmed');
      const payer = Keypair.fromSecretKey(sandbox.secretKeyOf('first'));
      const { blockhash } = await connection.getLatestBlockhash();
      const instructions = [
        SystemProgram.transfer({
          fromPubkey: payer.publicKey,
          toPubkey: Keypair.generate().publicKey,
          lamports: 1_000_000,
        }),
      ];
      const transaction = new VersionedTransaction(
        new TransactionMessage({
          payerKey: payer.publicKey,
          recentBlockhash: blockhash,
          instructions,
        }).compileToV0Message(),
      );
      transaction.sign([payer]);
      const signature = await connection.sendTransaction(transaction);
      await until(
        'landed',
        async () =>
          (await connection.getTransaction(signature, {
            commitment: 'confirmed',
            maxSupportedTransactionVersion: 0,
          })) !== null,
      );
      await expect(rpc('getTransaction', [signature, { commitment: 'confirmed' }])).rejects.toThrow(
        /version \(0\) is not supported/,
      );
      await expect(rpc('getBlock', [1_000_000_000])).rejects.toThrow(/not available/);
      await expect(
        rpc('getMultipleAccounts', [[sandbox.addressOf('first')], { minContextSlot: 1_000_000_000 }]),
      ).rejects.toThrow(RpcRefused);
    });

    it('checks the requested slot without leaving out older transactions', async () => {
      const owner = Keypair.generate().publicKey.toBase58();
      const { txHash } = await sandbox.pay({ coin: 'USDT', to: owner, amount: '1' });
      const minContextSlot = (await rpc<number>('getSlot', [{ commitment: 'confirmed' }])) + 2;
      const ask = (): Promise<{ signature: string }[]> =>
        rpc('getSignaturesForAddress', [
          chain.tokenAccountsOf(owner)[0]!.account,
          { commitment: 'confirmed', minContextSlot },
        ]);
      await until(
        'that slot',
        async () => (await rpc<number>('getSlot', [{ commitment: 'confirmed' }])) >= minContextSlot,
      );
      expect((await ask()).map(({ signature }) => signature)).toEqual([txHash]);
    });

    it('splits batches and forwards notifications', async () => {
      const batch = [
        { jsonrpc: '2.0', id: 1, method: 'getHealth' },
        { jsonrpc: '2.0', id: 2, method: 'getGenesisHash' },
        { jsonrpc: '2.0', id: 3, method: 'noSuchCall' },
      ];
      const answers = (await (await fetch(sandbox.rpcUrl, { method: 'POST', body: JSON.stringify(batch) })).json()) as {
        id: number;
        result?: unknown;
        error?: unknown;
      }[];
      expect(answers.map(({ id, result }) => [id, result])).toEqual([
        [1, 'ok'],
        [2, sandbox.genesis],
        [3, undefined],
      ]);
      const socket = new WebSocket(sandbox.rpcUrl.replace('http', 'ws'));
      const slots: number[] = [];
      socket.addEventListener('open', () =>
        socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'slotSubscribe' })),
      );
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as { method?: string; params?: { result: { slot: number } } };
        if (message.method === 'slotNotification') slots.push(message.params!.result.slot);
      });
      await until('slots', () => slots.length > 2);
      socket.close();
    });
  });
});

describe.skipIf(findSurfpoolAddon() === null)('the Solana sandbox over time', () => {
  const running: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const part of running.splice(0).reverse()) await part.close();
  });

  it('is a new chain after a restart, and says so, with the same mints and payers', async () => {
    const directory = folder();
    const first = await start(directory);
    running.push(first);
    const { txHash } = await first.pay({ coin: 'USDT', to: Keypair.generate().publicKey.toBase58(), amount: '1' });
    expect(first.previousGenesis).toBeNull();
    await first.close();
    const second = await start(directory);
    running.push(second);
    expect(second.genesis).not.toBe(first.genesis);
    expect(second.previousGenesis).toBe(first.genesis);
    expect(second.settings.tokens).toEqual(first.settings.tokens);
    expect(second.addressOf('first')).toBe(first.addressOf('first'));
    const chain = chainOf(second);
    running.push(chain);
    expect(await chain.transferAt(txHash, 1)).toBeNull();
    const stale = createSolanaChain({
      settings: first.settings,
      pool: createRpcPool({ network: 'solana', urls: [second.rpcUrl] }),
    });
    running.push(stale);
    await expect(stale.verify()).rejects.toThrow(/serves chain/);
  });

  it('leaves nothing running when its process is killed', async () => {
    const directory = folder();
    const script = `
      import { startSurfpool } from ${JSON.stringify(join(import.meta.dirname, '../../src/sandbox/surfpool/start-surfpool.ts'))};
      const sandbox = await startSurfpool({ directory: ${JSON.stringify(directory)} });
      console.log(sandbox.rpcUrl);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.push({ close: async () => void child.kill('SIGKILL') });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const started = descendantsOf(child.pid!);
    expect(started.length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await until('all ended', () => !started.some(isRunning));
    expect(existsSync(join(directory, 'genesis.json'))).toBe(true);
  });
});

/** A token that a stranger made and sends to the owner. */
async function mintStrange(sandbox: SolanaSandbox, owner: string, program: PublicKey): Promise<void> {
  const connection = new Connection(sandbox.rpcUrl, 'confirmed');
  const payer = Keypair.fromSecretKey(sandbox.secretKeyOf('second'));
  const mint = Keypair.generate();
  const to = getAssociatedTokenAddressSync(mint.publicKey, new PublicKey(owner), true, program);
  const lamports = await connection.getMinimumBalanceForRentExemption(MINT_SIZE);
  const instructions = [
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: mint.publicKey,
      lamports,
      space: MINT_SIZE,
      programId: program,
    }),
    createInitializeMint2Instruction(mint.publicKey, 6, payer.publicKey, null, program),
    createAssociatedTokenAccountIdempotentInstruction(
      payer.publicKey,
      to,
      new PublicKey(owner),
      mint.publicKey,
      program,
    ),
    createMintToInstruction(mint.publicKey, to, payer.publicKey, 1_000_000n, [], program),
  ];
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new VersionedTransaction(
    new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: blockhash,
      instructions,
    }).compileToV0Message(),
  );
  transaction.sign([payer, mint]);
  const signature = await connection.sendTransaction(transaction);
  await until(
    'minted',
    async () =>
      (await connection.getTransaction(signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 }))?.meta
        ?.err === null,
  );
}
