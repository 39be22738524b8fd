import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { tronInflows } from '../../../../src/adapters/tron/inflows.ts';
import type { On } from '../../../../src/adapters/tron/listed-blocks.ts';
import { fateAt } from '../../../../src/adapters/tron/outgoing-fate.ts';
import { tronOutflows } from '../../../../src/adapters/tron/outflows.ts';
import { tokenAccounts } from '../../../../src/adapters/tron/receipt.ts';
import { scanBlocks } from '../../../../src/adapters/tron/scan.ts';
import { toBase58Address } from '../../../../src/adapters/tron/address.ts';
import { formatAmount } from '../../../../src/domain/money/money.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import type { RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';
import { REPOSITORY } from '../../../support/repository.ts';

/* 520 blocks of a full node (java-tron 4.8.0), with all that it was paid, and what other code found in them. */

const FIXTURES = join(REPOSITORY, 'test/fixtures/chains/java-tron-4.8.0');
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));

interface RecordedBlock {
  readonly number: number;
  readonly block: {
    readonly blockID: string;
    readonly block_header: object;
    readonly transactions?: readonly { txID: string }[];
  };
  readonly infos: readonly { readonly id: string; readonly fee?: number; readonly blockNumber: number }[];
}
const BLOCKS = gunzipSync(readFileSync(join(FIXTURES, 'chain-1-520.jsonl.gz')))
  .toString('utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedBlock);
const LAST = 520;
const SUN = 10n ** 12n;

interface Expected {
  readonly block: number;
  readonly block_time_ms: number;
  readonly tx: string;
  readonly log: number;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly value: string;
}
const TRANSFERS = readJson('transfers-1-520.json') as Expected[];
const base58 = (hex: string): string => toBase58Address(hex.slice(2));
const [USDT, SECOND] = ['410df424f86259d108f36300d89ebcef846ed9fcf5', '418dfde8748004315725292e9f6a14e9c36bef6aa3'];
const settings: NetworkSettings = {
  ...{ network: 'tron', mode: 'test', chainId: '1' },
  tokens: [
    { coin: 'USDT', address: base58(USDT), decimals: 6 },
    { coin: 'USDC', address: base58(SECOND), decimals: 6 },
  ],
  ...{ simulated: false, mainNetwork: false, explorerTransactionUrl: null },
};

/** The node, as it stood when `head` was its newest block. */
function nodeAt(head: number): RpcProvider {
  const at = (number: number): RecordedBlock | undefined => (number <= head ? BLOCKS[number - 1] : undefined);
  const post = (
    path: string,
    body: { id_or_num?: string; num?: number; value?: string; startNum?: number; endNum?: number },
  ) => {
    switch (path.split('/')[2]) {
      case 'getblock': {
        const { transactions: _, ...header } = at(Number(body.id_or_num ?? head))?.block ?? {};
        return Promise.resolve(header);
      }
      case 'getblockbynum':
        return Promise.resolve(at(body.num!)?.block ?? {});
      case 'gettransactioninfobyblocknum':
        return Promise.resolve(at(body.num!)?.infos ?? []);
      case 'gettransactioninfobyid':
        return Promise.resolve(
          BLOCKS.slice(0, head)
            .flatMap(({ infos }) => infos)
            .find(({ id }) => id === body.value) ?? {},
        );
      case 'getblockbylimitnext':
        return Promise.resolve({
          block: BLOCKS.slice(body.startNum! - 1, Math.min(body.endNum! - 1, head)).map(({ block }) => block),
        });
      default:
        return Promise.reject(new Error(`no such call: ${path}`));
    }
  };
  const none = (): Promise<never> => Promise.reject(new Error('no such call'));
  return { name: 'node', call: none, get: none, post, report: () => undefined };
}

const on =
  (provider: RpcProvider): On =>
  (task) =>
    task(provider);

describe('the chain of a real TRON node', () => {
  it.each([true, false])(
    'shows every transfer of our tokens and no other (compared with the blocks: %s)',
    async (compareWithBlocks) => {
      const range = { fromBlock: 0, toBlock: LAST, isOurs: () => true, concurrency: 4, compareWithBlocks };
      const genesis = { blockID: '0'.repeat(64), block_header: { raw_data: {} } };
      const node = nodeAt(LAST);
      const fromGenesis: RpcProvider = {
        ...node,
        post: (path, body) => (JSON.stringify(body).includes('"0"') ? Promise.resolve(genesis) : node.post(path, body)),
      };
      const { transfers } = await scanBlocks(fromGenesis, tokenAccounts(settings.tokens), range);
      const found = transfers.map(({ block, txHash, logIndex, tokenAddress, fromAddress, toAddress, tokenUnits }) => ({
        ...{ block: block.number, timeSec: block.timeSec, hash: block.hash, tx: txHash, log: logIndex },
        ...{ token: tokenAddress, from: fromAddress, to: toAddress, value: String(tokenUnits) },
      }));
      const expected = TRANSFERS.filter(({ token, value }) => [USDT, SECOND].includes(token) && value !== '0').map(
        ({ block, block_time_ms: timeMs, tx, log, token, from, to, value }) => ({
          ...{ block, timeSec: timeMs / 1_000, hash: BLOCKS[block - 1]!.block.blockID, tx, log },
          ...{ token: base58(token), from: base58(from), to: base58(to), value },
        }),
      );
      expect(expected.length).toBeGreaterThan(320);
      expect(found).toEqual(expected);
    },
  );

  it('shows what the treasury spent and was given, to the sun that the node says it holds', async () => {
    const account = readJson('getaccount.json') as { readonly address: string; readonly balance: number };
    const [address, head] = [base58(account.address), 102];
    const everyone = (hashes: readonly string[]) => Promise.resolve(new Set(hashes));
    const spent = await tronOutflows(on(nodeAt(head)), settings, address, 1, everyone);
    const sought = { fromBlock: 1, toBlock: head, coins: ['TRX'] } as const;
    const given = await tronInflows(on(nodeAt(head)), settings, address, sought, everyone);
    const sumOf = (flows: readonly { readonly coin: string | null; readonly units: bigint | null }[]): bigint =>
      flows.reduce((sum, { coin, units }) => (coin === 'TRX' ? sum + (units ?? 0n) : sum), 0n);
    expect(sumOf(given) - sumOf(spent)).toBe(BigInt(account.balance) * SUN);
  });

  it('shows a plain transfer of TRX as landed, with the fee that made the account', async () => {
    const made = BLOCKS.flatMap(({ infos }) => infos).find(({ fee }) => fee === 1_100_000)!;
    const sent = [
      {
        txHash: made.id,
        signedBytes: '',
        validity: { kind: 'tron-expiration', expirationMs: Number.MAX_SAFE_INTEGER } as const,
      },
    ];
    const fate = await fateAt(nodeAt(LAST), { sent, expected: null, lifetimeMs: 60_000 });
    expect(fate).toMatchObject({
      kind: 'landed',
      landed: { networkFee: formatAmount(1_100_000n * SUN), blockNumber: made.blockNumber },
    });
  });

  it('is not read where the node leaves out what transactions do', async () => {
    const node = nodeAt(LAST);
    const bare: RpcProvider = {
      ...node,
      post: (path, body) =>
        node
          .post(path, body)
          .then(
            (answer) =>
              JSON.parse(JSON.stringify(answer), (key, value: unknown) =>
                key === 'parameter' ? undefined : value,
              ) as unknown,
          ),
    };
    const nobody = () => Promise.resolve(new Set<string>());
    await expect(tronOutflows(on(bare), settings, base58(USDT), 30, nobody)).rejects.toMatchObject({
      kind: 'inconsistent',
    });
  });
});
