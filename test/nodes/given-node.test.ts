import { afterAll, describe, expect, test } from 'vitest';
import { createEvmChain } from '../../src/adapters/evm/chain.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import { createTronChain } from '../../src/adapters/tron/chain.ts';
import { knownNetwork } from '../../src/domain/networks/known-networks.ts';
import type { Network, NetworkSettings, Token } from '../../src/domain/networks/networks.ts';
import type { IsOurs, Transfer } from '../../src/ports/chain/chain.ts';

/*
 * Reading a node that somebody runs, as far as that is possible without money: NODE_<NETWORK>_URL. It is taken for the
 * main network unless NODE_<NETWORK>_CHAIN says otherwise: {"chainId": …, "tokens": [{"coin", "address", "decimals"}]}.
 */

const urlOf = (network: Network): string | undefined => process.env[`NODE_${network.toUpperCase()}_URL`];

function settingsOf(network: Network): NetworkSettings {
  const given = process.env[`NODE_${network.toUpperCase()}_CHAIN`];
  const other = given === undefined ? {} : (JSON.parse(given) as { chainId: string; tokens: readonly Token[] });
  return { ...knownNetwork('live', network), ...other };
}

const poolOf = (network: Network, url: string) => createRpcPool({ network, urls: [url] });
/** Whoever is paid is one of ours: every transfer of the token counts. */
const EVERYBODY: IsOurs = () => true;
/** As many as the finest limit of providers known. */
const BLOCKS = 10;

for (const network of ['ethereum', 'bsc', 'tron'] as const) {
  const url = urlOf(network);
  describe.skipIf(url === undefined)(`the node of ${network}`, () => {
    const options = { settings: settingsOf(network), pool: poolOf(network, url ?? 'http://127.0.0.1:9') };
    const chain = network === 'tron' ? createTronChain(options) : createEvmChain(options);
    afterAll(() => chain.close());
    let found: readonly Transfer[] = [];
    let until = 0;

    const scanAll = async (to: number, readBefore: readonly string[]) => {
      const transfers: Transfer[] = [];
      const providers: string[] = [];
      for (let next = to - BLOCKS + 1; next <= to;) {
        const part = await chain.scan(next, to, EVERYBODY, { readBefore });
        transfers.push(...part.transfers);
        providers.push(...part.providers);
        next = part.lastBlock.number + 1;
      }
      return { transfers, providers };
    };

    test('serves its chain and the tokens', () => chain.verify());

    test('links its blocks, the final ones below its head', async () => {
      const [head, finalized] = [await chain.head(), (await chain.finalized())!];
      until = finalized.number;
      expect(finalized.number).toBeLessThanOrEqual(head.number);
      const parent = await chain.blockAt(finalized.number - 1);
      expect(finalized.parentHash).toBe(parent!.hash);
      expect(await chain.blockAt(head.number + 1_000)).toBeNull();
    });

    test('shows the same transfers by both readings', async () => {
      const first = await scanAll(until, []);
      found = first.transfers;
      expect((await scanAll(until, first.providers)).transfers).toEqual(found);
    });

    test('shows each of them as both readings did', async () => {
      expect(found.length).toBeGreaterThan(0);
      for (const transfer of found.slice(0, 5))
        expect(await chain.transferAt(transfer.txHash, transfer.logIndex)).toEqual(transfer);
    });
  });
}

describe.skipIf(urlOf('solana') === undefined)('the node of solana', () => {
  const pool = poolOf('solana', urlOf('solana') ?? 'http://127.0.0.1:9');
  const chain = createSolanaChain({ settings: settingsOf('solana'), pool });
  afterAll(() => chain.close());

  test('serves its chain and the tokens', () => chain.verify());

  test('knows its newest final block', async () => {
    const finalized = await chain.finalized();
    expect(await chain.blockAt(finalized.number)).toEqual(finalized);
  });

  test('says what accounts hold and what moved it', async () => {
    const [account] = chain.tokenAccountsOf(process.env['NODE_SOLANA_OWNER'] ?? '11111111111111111111111111111112');
    expect(await chain.balances([account!])).toMatchObject({ slot: expect.any(Number) });
    await chain.history(account!.account, { commitment: 'finalized' });
  });
});
