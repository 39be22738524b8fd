import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import type { JsonValue } from '../../src/ports/read-model/read-model.ts';
import { RunningService, until } from '../crash/running-service.ts';
import { solanaPayer, tronPayer } from '../support/raw-payers.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* What an operator brings to the treasuries, on real nodes and the facade. */

const WAIT_MS = 60_000;

interface Funding {
  readonly entry: number;
  readonly network: string;
  readonly coin: string;
  readonly amount: string;
  readonly from_address: string | null;
  readonly tx_hash: string | null;
  readonly came_in_blocks: readonly number[] | null;
}

let directory: string;
let service: RunningService;
beforeAll(async () => {
  directory = temporaryFolder('treasury-fundings');
  service = await RunningService.start(join(directory, 'data'));
});
afterAll(() => service.kill());

const admin = async <Answer>(command: string, args: Readonly<Record<string, JsonValue>>): Promise<Answer> =>
  (await callAdmin(join(directory, 'data'), command, args)) as unknown as Answer;
const treasury = (network: string): string => service.facts.networks[network]!.treasury;
const fundings = async (network: string): Promise<Funding[]> =>
  (await admin<{ fundings: Funding[] }>('ledger.fundings', { limit: '500' })).fundings.filter(
    (funding) => funding.network === network,
  );

/** What looks find from now on. */
async function broughtBy(network: string, bring: () => Promise<unknown>): Promise<Funding[]> {
  const known = (await fundings(network)).at(-1)?.entry ?? 0;
  await bring();
  return until('a look finds it', WAIT_MS, async () => {
    await admin('treasury.reconcile', { network });
    const found = (await fundings(network)).filter(({ entry }) => entry > known);
    return found.length > 0 && found;
  });
}

async function evm<Answer>(network: string, method: string, params: unknown[]): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(service.facts.networks[network]!.rpc_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { result, error } = (await answer.json()) as { result: Answer; error?: object };
  if (error) throw new Error(JSON.stringify(error));
  return result;
}

async function evmOwner(network: string): Promise<string> {
  const { address } = Wallet.createRandom();
  await evm(network, 'anvil_setBalance', [address, '0x8ac7230489e80000']);
  await evm(network, 'anvil_impersonateAccount', [address]);
  return address;
}

describe('native coin that arrived at a treasury', () => {
  it.each(['ethereum', 'bsc'])(
    'is booked with its transaction on %s, each once, also while its block is not final',
    async (network) => {
      await admin('treasury.reconcile', { network });
      const from = await evmOwner(network);
      for (const value of ['0x16345785d8a0000', '0x2c68af0bb140000']) {
        let hash = '';
        const found = await broughtBy(network, async () => {
          hash = await evm(network, 'eth_sendTransaction', [{ from, to: treasury(network), value }]);
        });
        expect(found).toMatchObject([
          {
            amount: value === '0x16345785d8a0000' ? '0.10' : '0.20',
            from_address: from,
            tx_hash: hash,
            came_in_blocks: null,
          },
        ]);
      }
    },
  );

  it('is booked with the blocks in one of which it came where a contract handed it over', async () => {
    await admin('treasury.reconcile', { network: 'ethereum' });
    const from = await evmOwner('ethereum');
    const before = Number(await evm('ethereum', 'eth_blockNumber', []));
    // CALL(gas, treasury, value, 0, 0, 0, 0) as the contract is made
    const data = `0x60006000600060003473${treasury('ethereum').slice(2)}5af100`;
    const found = await broughtBy('ethereum', () =>
      evm('ethereum', 'eth_sendTransaction', [{ from, data, value: '0x16345785d8a0000' }]),
    );
    expect(found).toMatchObject([{ coin: 'ETH', amount: '0.10', from_address: null, tx_hash: null }]);
    const [first, last] = found[0]!.came_in_blocks!;
    expect(first).toBeLessThanOrEqual(before + 1);
    expect(last).toBeGreaterThan(before);
  });

  it('is booked with its transaction on TRON and Solana', async () => {
    const sandbox = { facts: service.facts, dataDir: join(directory, 'data') };
    const payers = { tron: await tronPayer(sandbox), solana: solanaPayer(sandbox) };
    for (const network of ['tron', 'solana'] as const) {
      await admin('treasury.reconcile', { network });
      let hash = '';
      const found = await broughtBy(
        network,
        async () => (hash = await payers[network].sendNative(treasury(network), 7_000_000n)),
      );
      expect(found).toMatchObject([
        { amount: network === 'tron' ? '7.00' : '0.007', tx_hash: hash, came_in_blocks: null },
      ]);
    }
  });
});

describe('coins that arrived at the treasury on TRON', () => {
  it('are booked with their transaction, also where a contract sent them', async () => {
    const payer = await tronPayer({ facts: service.facts, dataDir: join(directory, 'data') });
    await admin('treasury.reconcile', { network: 'tron' });
    const to = treasury('tron');
    const found = await broughtBy('tron', () =>
      payer.sendMany([3_000_000n, 4_000_000n].map((units) => ({ to, units }))),
    );
    expect(found).toMatchObject([
      { coin: 'USDT', amount: '3.00', came_in_blocks: null },
      { coin: 'USDT', amount: '4.00', came_in_blocks: null },
    ]);
    expect(new Set(found.map(({ tx_hash: hash }) => hash))).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{64}$/)]));
  });
});
