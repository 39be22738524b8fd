import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { SolanaWatcher } from '../../src/features/deposits/solana/watch.process.ts';
import { WatchedOwners } from '../../src/features/deposits/solana/owners.ts';
import type { PendingDeposit } from '../../src/features/deposits/chain/types.ts';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { startSurfpool, type SolanaSandbox } from '../../src/sandbox/surfpool/start-surfpool.ts';
import { FaultProxy, type Fault } from '../support/fault-proxy.ts';
import { ToldDeposits, until } from '../support/watching.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Knows no transaction any more; what it says of blocks and balances is true. */
const knowingNothing: Fault = async (call, forward) => {
  if (call.method === 'getTransaction') return { result: null };
  if (call.method === 'getSignaturesForAddress') return { result: [] };
  if (call.method !== 'getSignatureStatuses') return undefined;
  const answer = (await forward(call)) as { context: unknown };
  return { result: { ...answer, value: (call.params[0] as unknown[]).map(() => null) } };
};

describe.skipIf(findSurfpoolAddon() === null)(
  'a Solana provider that returns nothing about transactions',
  { timeout: 120_000 },
  () => {
    const directory = temporaryFolder('withheld');
    const deposits = new ToldDeposits();
    const anomalies: string[] = [];
    const owner = Keypair.generate().publicKey.toBase58();
    const sessionId = 'cs_paid' as SessionId;
    let sandbox: SolanaSandbox;
    let proxy: FaultProxy;
    let stop: () => Promise<void> = () => Promise.resolve();

    beforeAll(async () => {
      const started = await startSurfpool({ directory });
      if ('reason' in started) throw new Error(started.reason);
      sandbox = started;
      proxy = await FaultProxy.before(sandbox.rpcUrl);
    });
    afterAll(async () => {
      await stop();
      await proxy.close();
      await sandbox.close();
    });

    /** A service that was killed knows what its event log does. */
    async function restart(pending: readonly PendingDeposit[] = []): Promise<void> {
      await stop();
      anomalies.length = 0;
      const chain = createSolanaChain({
        settings: sandbox.settings,
        pool: createRpcPool({ network: 'solana', urls: [proxy.url], maxLagBlocks: 50 }),
      });
      const owners = new WatchedOwners('test');
      const nowSec = Math.floor(Date.now() / 1000);
      owners.add({ owner, sessionId, createdAtSec: nowSec, expiresAtSec: nowSec + 1_800, endedAtSec: null });
      const watcher = new SolanaWatcher(
        {
          chain,
          owners,
          addresses: { sessionOf: (address) => owners.find(address)?.sessionId ?? null },
          deposits: deposits.commands,
          coverage: { lastCovered: async () => null, record: async () => undefined },
          clock: { nowMs: Date.now },
          finalityRuleOf: () => ({ kind: 'finalized' }),
          pendingDeposits: async () => pending,
          observer: { onAnomaly: ({ kind }) => anomalies.push(kind) },
        },
        { pollIntervalMs: 100 },
      );
      await watcher.start();
      stop = async () => {
        await watcher.stop();
        await chain.close();
      };
    }

    const finalizedSlot = async (): Promise<number> => {
      const answer = await fetch(sandbox.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSlot', params: [{ commitment: 'finalized' }] }),
      });
      return ((await answer.json()) as { result: number }).result;
    };
    const reverted = (): string[] => deposits.lines.filter((line) => line.startsWith('revert'));
    const pendingAs = (status: PendingDeposit['status']): PendingDeposit => ({
      sessionId,
      facts: deposits.facts[0]!,
      rule: { kind: 'finalized' },
      status,
    });

    it('reverts no payment before finality, around it, or across a restart, and the payment is final once it responds again', async () => {
      await restart();
      await sandbox.pay({ coin: 'USDC', to: owner, amount: '7.5' });
      await until('seen', () => deposits.facts.length === 1);
      proxy.play(knowingNothing);
      await until(
        'finality is so far past it that a proof would count',
        async () => (await finalizedSlot()) > deposits.facts[0]!.blockNumber + 160,
      );
      await until('doubted', () => anomalies.includes('withheld'));
      expect(reverted()).toEqual([]);
      await restart([pendingAs('detected')]);
      await until('doubted again', () => anomalies.includes('withheld'));
      expect(reverted()).toEqual([]);
      proxy.heal();
      await until('final', () => deposits.lines.some((line) => line.startsWith('confirm')));
      expect(reverted()).toEqual([]);
    });

    it('does not revert final payments either', async () => {
      proxy.play(knowingNothing);
      await restart([pendingAs('final')]);
      await until('doubted', () => anomalies.includes('withheld'));
      expect(reverted()).toEqual([]);
      proxy.heal();
    });
  },
);
