import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAssociatedTokenAddressSync } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { fromBase58 } from '../../../../src/chain-formats/base58.ts';
import { associatedTokenAccount } from '../../../../src/chain-formats/spl-token.ts';
import { createSolanaChain } from '../../../../src/adapters/solana/chain.ts';
import { withTokenAccounts } from '../../../../src/adapters/solana/token-account-pool.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import type { AccountChain, TokenAccount } from '../../../../src/ports/chain/account-chain.ts';
import { ChainUnavailable, WrongChain } from '../../../../src/ports/chain/chain.ts';
import {
  MAINNET_GENESIS,
  TOKEN_PROGRAM,
  hashOfSlot,
  mintAccount,
  playSolanaNode,
  tokenAccountData,
} from '../../../support/solana-node.ts';
import type { PlayedSolanaNode, PlayedTransaction } from '../../../support/solana-node.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const FIXTURES = join(REPOSITORY, 'test', 'fixtures', 'chains');
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const OWNER = 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96';

const settings: NetworkSettings = {
  network: 'solana',
  mode: 'live',
  chainId: MAINNET_GENESIS,
  tokens: [
    { coin: 'USDT', address: USDT, decimals: 6 },
    { coin: 'USDC', address: USDC, decimals: 6 },
  ],
  simulated: false,
  mainNetwork: true,
  explorerTransactionUrl: null,
};

async function play(slot = 400_000_100, finalizedSlot = slot - 32): Promise<PlayedSolanaNode> {
  const node = await playSolanaNode(slot, finalizedSlot);
  node.accounts.set(USDC, mintAccount()).set(USDT, mintAccount());
  onTestFinished(() => node.close());
  return node;
}

function chainOver(
  nodes: readonly PlayedSolanaNode[],
  confirmWithSecond?: () => boolean,
  lagProbeMs?: number,
): AccountChain {
  const pool = createRpcPool({ network: 'solana', urls: nodes.map(({ url }) => url), maxWaitMs: 0, maxLagBlocks: 50 });
  const chain = createSolanaChain({
    settings,
    pool,
    ...(confirmWithSecond && { confirmWithSecond }),
    ...(lagProbeMs !== undefined && { lagProbeMs }),
  });
  onTestFinished(() => chain.close());
  return chain;
}

interface Expected {
  readonly chain: string;
  readonly file: string;
  readonly hash: string;
  readonly block: number | null;
  readonly timestamp?: number;
  readonly tokenDeltas: { accountIndex: number; token: 'USDT' | 'USDC'; owner: string; delta: string }[];
}

type Recorded = PlayedTransaction & {
  transaction: { message: { accountKeys: (string | { pubkey: string })[] } };
  meta: { loadedAddresses?: { writable: string[]; readonly: string[] } | null };
};

/** A recorded file holds a transaction, an RPC answer or a block; the block's transaction has lost its slot. */
function recorded(file: string, slot: number): Recorded {
  const json = readJson(file) as { result?: Recorded; transactions?: Recorded[] } & Recorded;
  return { ...(json.result ?? json.transactions?.[0] ?? json), slot };
}

function keysOf({ transaction, meta }: Recorded): string[] {
  const keys = transaction.message.accountKeys.map((key) => (typeof key === 'string' ? key : key.pubkey));
  const parsed = typeof transaction.message.accountKeys[0] !== 'string';
  return parsed
    ? keys
    : [...keys, ...(meta.loadedAddresses?.writable ?? []), ...(meta.loadedAddresses?.readonly ?? [])];
}

const accountFor = (account: string, owner: string, coin: 'USDT' | 'USDC'): TokenAccount => ({
  account,
  owner,
  token: settings.tokens.find((token) => token.coin === coin)!,
});

describe('recorded Solana transactions, replayed through the adapter', () => {
  const expected = (readJson('expected.json') as Expected[]).filter(({ chain }) => chain === 'solana');

  it.each(expected)('$file reads as recorded', async ({ file, hash, block, timestamp, tokenDeltas }) => {
    const slot = block ?? 154_808_473;
    const transaction = recorded(file, slot);
    const node = await play(slot + 40, slot + 1);
    node.timeOf = () => timestamp ?? 1_650_000_000;
    node.transactions.set(hash, transaction);
    const chain = chainOver([node]);
    await chain.verify();
    await chain.balances([]);
    await chain.finalized();
    const keys = keysOf(transaction);
    for (const { accountIndex, token, owner, delta } of tokenDeltas) {
      const effect = await chain.effectOf(hash, accountFor(keys[accountIndex]!, owner, token));
      expect(effect!.unitsDelta).toBe(BigInt(delta));
      const transfer = await chain.transferAt(hash, accountIndex);
      expect(transfer).toEqual(effect!.transfer);
      if (BigInt(delta) < 0n) expect(transfer).toBeNull();
      else
        expect(transfer).toMatchObject({
          tokenUnits: BigInt(delta),
          toAddress: owner,
          txHash: hash,
          logIndex: accountIndex,
          block: { number: slot, hash: hashOfSlot(slot, '0') },
        });
      if (timestamp !== undefined && transfer) expect(transfer.block.timeSec).toBe(timestamp);
    }
    for (const index of keys.keys())
      if (!tokenDeltas.some(({ accountIndex }) => accountIndex === index))
        expect(await chain.transferAt(hash, index)).toBeNull();
  });

  it('credit a version 1 transaction, which a node returns only on request', async () => {
    const node = await play();
    const transaction = (readJson('solana/synthetic.json') as Record<string, Recorded>)['v1_transfer']!;
    node.transactions.set('v1', transaction);
    const chain = chainOver([node]);
    await chain.balances([]);
    expect(await chain.transferAt('v1', 1)).toMatchObject({ tokenUnits: 2_500_000n, toAddress: OWNER });
  });
});

describe('token accounts', () => {
  it('are derived as the token library derives them', () => {
    for (const owner of [OWNER, ...Array.from({ length: 8 }, () => Keypair.generate().publicKey.toBase58())]) {
      expect(associatedTokenAccount(owner, USDC)).toBe(
        getAssociatedTokenAddressSync(new PublicKey(USDC), new PublicKey(owner), true).toBase58(),
      );
    }
  });

  it('are read a hundred a call, the clock of the same state among them', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.verify();
    const [usdt, usdc] = chain.tokenAccountsOf(OWNER);
    const bytes = (text: string): Uint8Array => new PublicKey(text).toBytes();
    node.accounts.set(usdc!.account, tokenAccountData(bytes(USDC), bytes(OWNER), 77n));
    const many = [
      usdt!,
      ...Array.from({ length: 148 }, (_, index) => ({ ...usdt!, account: `account-${index}` })),
      usdc!,
    ];
    node.requests.length = 0;
    const look = await chain.balances(many);
    expect(node.requests.map(({ method, params }) => [method, (params[0] as unknown[]).length])).toEqual([
      ['getMultipleAccounts', 100],
      ['getMultipleAccounts', 52],
    ]);
    expect(look.units).toEqual([...Array<bigint>(149).fill(0n), 77n]);
    expect(look).toMatchObject({ slot: node.slot, timeSec: node.timeOf(node.slot) });
  });

  it('of another program, mint or owner count as empty', async () => {
    const node = await play();
    const chain = chainOver([node]);
    const [, usdc] = chain.tokenAccountsOf(OWNER);
    const bytes = (text: string): Uint8Array => new PublicKey(text).toBytes();
    const balance = async (account: { data: string; owner?: string }): Promise<bigint> => {
      node.accounts.set(usdc!.account, account);
      return (await chain.balances([usdc!])).units[0]!;
    };
    const right = tokenAccountData(bytes(USDC), bytes(OWNER), 5n);
    expect(await balance(right)).toBe(5n);
    expect(await balance({ ...right, owner: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' })).toBe(0n);
    expect(await balance(tokenAccountData(bytes(USDT), bytes(OWNER), 5n))).toBe(0n);
    expect(await balance(tokenAccountData(bytes(USDC), bytes(USDT), 5n))).toBe(0n);
    // An account of the token program without its data is no answer.
    await expect(balance({ data: '' })).rejects.toThrow(ChainUnavailable);
  });
});

describe('a provider that was unreachable', () => {
  it('is asked anew which chain it serves, and not believed when that is another one', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.finalized();
    const asked = (): number => node.requests.filter(({ method }) => method === 'getGenesisHash').length;
    await chain.finalized();
    expect(asked()).toBe(1);
    node.override = () => ({ status: 502 });
    await expect(chain.finalized()).rejects.toThrow(ChainUnavailable);
    node.override = () => undefined;
    node.genesis = 'of a node that was reset';
    await expect
      .poll(
        () =>
          chain.finalized().then(
            () => 'believed',
            ({ message }: Error) => message,
          ),
        { timeout: 5_000 },
      )
      .toContain('serves chain of a node that was reset');
    expect(asked()).toBe(2);
  });

  it('has no skipped slot where it only refuses to answer so often', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.verify();
    await chain.balances([]);
    const refusing = (code: number, message: string): void => {
      node.override = ({ method }) => (method === 'getBlock' ? { error: { code, message } } : undefined);
    };
    for (const [code, message] of [
      [-32007, 'Slot 400000000 was skipped, or missing due to ledger jump to recent snapshot'],
      [-32009, 'Slot 400000000 was skipped, or missing in long-term storage'],
    ] as const) {
      refusing(code, message);
      expect(await chain.blockAt(400_000_000)).toBeNull();
    }
    refusing(-32007, '15/second request limit reached - reduce calls per second or upgrade your account');
    await expect(chain.blockAt(400_000_000)).rejects.toThrow(ChainUnavailable);
  });
});

describe('other accounts of an owner', () => {
  it('are found with what they hold of our tokens', async () => {
    const node = await play();
    const chain = chainOver([node]);
    const held = (pubkey: string, mint: string, amount: bigint) => {
      const { data } = tokenAccountData(fromBase58(mint)!, fromBase58(OWNER)!, amount);
      return { pubkey, account: { owner: TOKEN_PROGRAM, data: [data, 'base64'] } };
    };
    node.override = ({ method }) =>
      method === 'getTokenAccountsByOwner'
        ? {
            result: {
              context: { slot: node.finalizedSlot },
              value: [
                held(associatedTokenAccount(OWNER, USDC), USDC, 9n),
                held('second', USDC, 5n),
                held('empty', USDC, 0n),
                held('of another token', OWNER, 3n),
              ],
            },
          }
        : undefined;
    expect(await chain.otherHoldings!(OWNER)).toEqual([
      { account: 'second', owner: OWNER, token: settings.tokens[1], units: 5n },
    ]);
  });
});

describe('an account’s history', () => {
  const history = (count: number, node: PlayedSolanaNode): string[] => {
    const signatures = Array.from({ length: count }, (_, index) => `signature-${count - index}`);
    for (const [index, signature] of signatures.entries())
      node.transactions.set(signature, {
        slot: node.finalizedSlot + 5 - index,
        meta: { err: index === 1 ? 'failed' : null },
      });
    node.histories.set('account', signatures);
    return signatures;
  };

  it('is read over as many pages as it has, down to the cursor', async () => {
    const node = await play();
    const chain = chainOver([node]);
    const signatures = history(2_500, node);
    const all = await chain.history('account', { commitment: 'confirmed' });
    expect(all.map(({ txHash }) => txHash)).toEqual(signatures);
    expect(all[1]).toMatchObject({ failed: true });
    const news = await chain.history('account', { commitment: 'confirmed', until: signatures[3]! });
    expect(news.map(({ txHash }) => txHash)).toEqual(signatures.slice(0, 3));
  });

  it('is final only as far as the chain is', async () => {
    const node = await play();
    const chain = chainOver([node]);
    const signatures = history(10, node);
    expect((await chain.history('account', { commitment: 'finalized' })).map(({ txHash }) => txHash)).toEqual(
      signatures.slice(5),
    );
  });

  it('is read again without a transaction that the node does not keep any more, from the slot after it', async () => {
    const node = await play();
    const chain = chainOver([node]);
    const signatures = history(2_500, node);
    const [gone, kept] = [signatures[1_500]!, signatures.slice(0, 1_500)];
    const untilSlot = node.transactions.get(gone)!.slot;
    // Agave deletes whole slots, the oldest first.
    for (const signature of signatures.slice(1_500)) node.transactions.delete(signature);
    node.histories.set('account', kept);
    const news = await chain.history('account', { commitment: 'confirmed', until: gone, untilSlot });
    expect(news.map(({ txHash }) => txHash)).toEqual(kept);
    expect(await chain.history('account', { commitment: 'confirmed', until: gone, untilSlot: node.slot })).toEqual([]);
  });

  it('ends where the node deletes what the page before ended with', async () => {
    const node = await play();
    const signatures = history(1_500, node);
    const kept = signatures.slice(0, 1_000);
    let pages = 0;
    node.override = ({ method, params }) => {
      if (method !== 'getSignaturesForAddress' || params[0] !== 'account') return undefined;
      pages += 1;
      if (pages === 2) {
        for (const signature of signatures.slice(999)) node.transactions.delete(signature);
        node.histories.set('account', signatures.slice(0, 999));
      }
      return undefined;
    };
    const chain = chainOver([node]);
    const all = await chain.history('account', { commitment: 'confirmed' });
    expect(all.map(({ txHash }) => txHash)).toEqual(kept);
  });

  it('comes only from a provider that has come as far as the balance', async () => {
    const [behind, abreast] = [await play(400_000_090), await play(400_000_100)];
    const chain = chainOver([behind, abreast]);
    await chain.verify();
    await chain.history('account', { commitment: 'confirmed', minSlot: 400_000_100 });
    expect(
      abreast.requests.some(({ method, params }) => method === 'getSignaturesForAddress' && params[0] === 'account'),
    ).toBe(true);
    await expect(chain.history('account', { commitment: 'confirmed', minSlot: 400_000_101 })).rejects.toThrow(
      ChainUnavailable,
    );
  });
});

describe('Solana providers', () => {
  it('are replaced when they stop advancing, although they respond to everything', async () => {
    const [halted, sound] = [await play(), await play()];
    const chain = chainOver([halted, sound], undefined, 20);
    expect((await chain.balances([])).slot).toBe(halted.slot);
    sound.slot += 100;
    sound.finalizedSlot += 100;
    await expect.poll(async () => (await chain.balances([])).slot, { timeout: 2_000 }).toBe(sound.slot);
    expect((await chain.finalized()).number).toBe(sound.finalizedSlot);
  });

  it('are refused when they serve another chain, another mint or other decimals', async () => {
    const devnet = await play();
    devnet.genesis = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
    await expect(chainOver([devnet]).verify()).rejects.toThrow(WrongChain);
    const decimals = await play();
    decimals.accounts.set(USDC, mintAccount(9));
    await expect(chainOver([decimals]).verify()).rejects.toThrow(/9 decimals/);
    const token2022 = await play();
    token2022.accounts.set(USDC, { ...mintAccount(), owner: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' });
    await expect(chainOver([token2022]).verify()).rejects.toThrow(WrongChain);
    const noMint = await play();
    noMint.accounts.delete(USDT);
    await expect(chainOver([noMint]).verify()).rejects.toThrow(/no provider can be used .*has no USDT mint/);
  });

  it('are of no use when they refuse a method that is needed', async () => {
    const node = await play();
    node.override = ({ method }) =>
      method === 'getSignaturesForAddress' ? { error: { code: -32601, message: 'Method not found' } } : undefined;
    await expect(chainOver([node]).verify()).rejects.toThrow(ChainUnavailable);
  });
});

/* Agave says `ok` while its finalised slot is lower than before a kill, while it stands still, and after a jump. */
describe('a node that was restarted', () => {
  const shown = (readJson('solana/synthetic.json') as Record<string, Recorded>)['usdt_plain']!;

  it('denies nothing that was final while its finalized slot is lower than before, and shows it again after', async () => {
    const node = await play();
    node.transactions.set('paid', { ...shown, slot: node.finalizedSlot - 5 });
    const chain = chainOver([node]);
    await chain.balances([]);
    const { number } = await chain.finalized();
    expect(await chain.transferAt('paid', 1)).not.toBeNull();
    node.finalizedSlot -= 40;
    expect((await chain.finalized()).number).toBe(number - 40);
    await expect(chain.transferAt('paid', 1)).rejects.toThrow(/as finalized yet/);
    node.finalizedSlot += 41;
    expect(await chain.transferAt('paid', 1)).not.toBeNull();
  });

  it('is asked for no absence while it stands still and another one has gone on', async () => {
    const [halted, sound] = [await play(400_000_100), await play(400_000_200)];
    const chain = chainOver([halted, sound]);
    await chain.balances([]);
    halted.override = () => ({ status: 503 });
    await chain.balances([]);
    halted.override = () => undefined;
    sound.override = () => ({ status: 503 });
    await expect(chain.transferAt('never', 1)).rejects.toThrow(ChainUnavailable);
  });

  it('names no final block where its newest final slot is one that it jumped over', async () => {
    const [jumped, sound] = [await play(), await play()];
    jumped.skipped.add(jumped.finalizedSlot);
    expect((await chainOver([jumped, sound]).finalized()).number).toBe(sound.finalizedSlot);
    await expect(chainOver([jumped]).finalized()).rejects.toThrow(ChainUnavailable);
  });
});

describe('reading a Solana transfer again', () => {
  const transaction = (readJson('solana/synthetic.json') as Record<string, Recorded>)['usdt_plain']!;

  it('believes in an absence only where not even a status is known and the provider keeps up', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.balances([]);
    expect(await chain.transferAt('never', 1)).toBeNull();
    node.override = ({ method }) =>
      method === 'getSignatureStatuses'
        ? { result: { context: { slot: node.slot }, value: [{ slot: 1 }] } }
        : undefined;
    await expect(chain.transferAt('never', 1)).rejects.toThrow(ChainUnavailable);
    node.override = () => undefined;
    node.slot -= 20;
    await expect(chain.transferAt('never', 1)).rejects.toThrow(ChainUnavailable);
  });

  it('says "not yet" for a listed transaction that cannot be read, and never drops it', async () => {
    const node = await play();
    const chain = chainOver([node]);
    const account = accountFor('ReceiverAccount11111111111111111111111111111', OWNER, 'USDT');
    expect(await chain.effectOf('late', account)).toBeNull();
    node.transactions.set('late', transaction);
    expect(await chain.effectOf('late', account)).toMatchObject({
      unitsDelta: 2_500_000n,
      transfer: { fromAddress: 'FQT9SSwEZ6UUQxsmTzgt5JzjrS4M5zm13M1QiYF8TEo6' },
    });
  });

  it('at or below the finalized slot accepts only the finalized response', async () => {
    const node = await play();
    node.transactions.set('paid', transaction);
    const chain = chainOver([node]);
    await chain.balances([]);
    await chain.finalized();
    expect(await chain.transferAt('paid', 1)).toMatchObject({ tokenUnits: 2_500_000n });
    node.override = ({ method, params }) =>
      method === 'getTransaction' && (params[1] as { commitment: string }).commitment === 'finalized'
        ? { result: null }
        : undefined;
    await expect(chain.transferAt('paid', 1)).rejects.toThrow(ChainUnavailable);
  });

  it('asks a second provider before it says that a transfer is gone, and two before a large one counts', async () => {
    const [forgetful, sound] = [await play(), await play()];
    sound.transactions.set('paid', transaction);
    const chain = chainOver([forgetful, sound]);
    await chain.balances([]);
    expect(await chain.transferAt('paid', 1)).toMatchObject({ tokenUnits: 2_500_000n });
    const careful = chainOver([forgetful, sound], () => true);
    await careful.balances([]);
    await expect(careful.transferAt('paid', 1)).rejects.toThrow(/do not agree/);
    forgetful.transactions.set('paid', transaction);
    expect(await careful.transferAt('paid', 1)).toMatchObject({ tokenUnits: 2_500_000n });
  });

  it('does not believe one provider alone that a large transfer is final', async () => {
    const [liar, honest] = [await play(), await play()];
    for (const node of [liar, honest]) node.transactions.set('paid', transaction);
    const chain = chainOver([liar, honest], () => true);
    await chain.balances([]);
    const transfer = (await chain.transferAt('paid', 1))!;
    honest.finalizedSlot = transfer.block.number - 1;
    expect(await chain.agreeOnFinality(transfer, { kind: 'finalized' })).toBe(false);
    expect(await chainOver([liar, honest]).agreeOnFinality(transfer, { kind: 'finalized' })).toBe(true);
    honest.finalizedSlot = transfer.block.number;
    expect(await chain.agreeOnFinality(transfer, { kind: 'finalized' })).toBe(true);
    honest.fork = 'b';
    expect(await chain.agreeOnFinality(transfer, { kind: 'finalized' })).toBe(false);
  });
});

describe('the pool of owners', () => {
  it('names the token accounts of Solana owners and leaves other addresses as they are', () => {
    const given = new Map([
      ['solana', { family: 'solana' as const, address: OWNER, derivationIndex: 3 }],
      ['evm', { family: 'evm' as const, address: '0x00', derivationIndex: 4 }],
    ]);
    const returned: string[] = [];
    const pool = withTokenAccounts(
      { take: (_, family) => given.get(family) ?? null, giveBack: (_, { address }) => void returned.push(address) },
      () => settings.tokens,
    );
    expect(pool.take('live', 'solana')).toEqual({
      ...given.get('solana'),
      tokenAccounts: { USDT: associatedTokenAccount(OWNER, USDT), USDC: associatedTokenAccount(OWNER, USDC) },
    });
    expect(pool.take('live', 'evm')).toBe(given.get('evm'));
    expect(pool.take('live', 'tron')).toBeNull();
    pool.giveBack('live', given.get('solana')!);
    expect(returned).toEqual([OWNER]);
  });
});
