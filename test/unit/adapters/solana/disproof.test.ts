import { Keypair, PublicKey } from '@solana/web3.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { createSolanaChain } from '../../../../src/adapters/solana/chain.ts';
import type { DepositFacts } from '../../../../src/domain/events/session-events.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import type { Disproof } from '../../../../src/ports/chain/chain.ts';
import { associatedTokenAccount } from '../../../../src/chain-formats/spl-token.ts';
import {
  hashOfSlot,
  MAINNET_GENESIS,
  mintAccount,
  playSolanaNode,
  tokenAccountData,
  TOKEN_PROGRAM,
} from '../../../support/solana-node.ts';
import type { PlayedSolanaNode, PlayedTransaction } from '../../../support/solana-node.ts';

const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const OWNER = Keypair.generate().publicKey.toBase58();
const ACCOUNT = associatedTokenAccount(OWNER, USDT);
const SLOT = 400_000_000;
const settings: NetworkSettings = {
  network: 'solana',
  mode: 'live',
  chainId: MAINNET_GENESIS,
  tokens: [{ coin: 'USDT', address: USDT, decimals: 6 }],
  simulated: false,
  mainNetwork: true,
  explorerTransactionUrl: null,
};
const RECORDED: DepositFacts = {
  depositKey: 'solana:paid:1',
  network: 'solana',
  coin: 'USDT',
  amount: '5.00',
  fromAddress: 'payer',
  blockTimeSec: 1_700_000_000,
  tokenAddress: USDT,
  toAddress: OWNER,
  txHash: 'paid',
  logIndex: 1,
  blockNumber: SLOT,
  blockHash: hashOfSlot(SLOT, '0'),
};

const paying = (slot: number, units: bigint, err: unknown = null): PlayedTransaction =>
  ({
    slot,
    meta: {
      ...{ err, preBalances: [], postBalances: [] },
      preTokenBalances: [],
      postTokenBalances: [
        {
          accountIndex: 1,
          mint: USDT,
          owner: OWNER,
          programId: TOKEN_PROGRAM,
          uiTokenAmount: { amount: units.toString() },
        },
      ],
    },
    transaction: { message: { accountKeys: ['payer', ACCOUNT] } },
  }) as PlayedTransaction;

/** A node of a chain that is well past the slot, where the owner was paid `units` in all. */
async function nodeWith(units: bigint): Promise<PlayedSolanaNode> {
  const node = await playSolanaNode(SLOT + 232, SLOT + 200);
  onTestFinished(() => node.close());
  const bytes = (text: string): Uint8Array => new PublicKey(text).toBytes();
  node.accounts.set(USDT, mintAccount()).set(ACCOUNT, tokenAccountData(bytes(USDT), bytes(OWNER), units));
  return node;
}

async function disproofOver(nodes: readonly PlayedSolanaNode[]): Promise<Disproof | null> {
  const pool = createRpcPool({ network: 'solana', urls: nodes.map(({ url }) => url), maxWaitMs: 0, maxLagBlocks: 50 });
  const chain = createSolanaChain({ settings, pool });
  onTestFinished(() => chain.close());
  return chain.disprove(RECORDED);
}

/** The chain holds the payment, but its node answers nothing about it. */
async function silentNode(silent: readonly string[]): Promise<PlayedSolanaNode> {
  const node = await nodeWith(5_000_000n);
  node.transactions.set('paid', paying(SLOT, 5_000_000n));
  node.histories.set(ACCOUNT, ['paid']);
  node.override = ({ method }) => {
    if (!silent.includes(method)) return undefined;
    if (method === 'getTransaction') return { result: null };
    return { result: method === 'getSignatureStatuses' ? { context: { slot: node.slot }, value: [null] } : [] };
  };
  return node;
}

describe('the disproof of a Solana transfer', () => {
  it.each([
    [['getTransaction']],
    [['getTransaction', 'getSignatureStatuses']],
    [['getTransaction', 'getSignatureStatuses', 'getSignaturesForAddress']],
    [['getTransaction', 'getSignatureStatuses', 'getSignaturesForAddress', 'getBlocksWithLimit']],
  ])('is not accepted from a node that returns nothing to %s', async (silent) => {
    expect(await disproofOver([await silentNode(silent)])).toBeNull();
  });

  it('is not given by a block alone, while the balance holds the money', async () => {
    const node = await nodeWith(5_000_000n);
    expect(await disproofOver([node])).toBeNull();
  });

  it('is not given by a balance alone, while the block holds the transaction', async () => {
    const node = await silentNode(['getTransaction', 'getSignatureStatuses', 'getSignaturesForAddress']);
    node.accounts.delete(ACCOUNT);
    expect(await disproofOver([node])).toBeNull();
  });

  it('is the finalized block of its slot without it and a balance that the other transactions explain', async () => {
    const node = await nodeWith(3_000_000n);
    node.fork = '1';
    node.transactions.set('other', paying(SLOT + 5, 3_000_000n));
    node.histories.set(ACCOUNT, ['other']);
    expect(await disproofOver([node])).toBe('reorg');
  });

  it('is a slot that has no block in the finalized chain', async () => {
    const node = await nodeWith(0n);
    node.skipped.add(SLOT).add(SLOT + 1);
    expect(await disproofOver([node])).toBe('reorg');
  });

  it('is the transaction in another block without effect, or in the same one with another effect', async () => {
    const node = await nodeWith(0n);
    node.transactions.set('paid', paying(SLOT + 3, 5_000_000n, { InstructionError: [0, 'Custom'] }));
    expect(await disproofOver([node])).toBe('failed');
    node.transactions.set('paid', paying(SLOT, 5_000_000n));
    expect(await disproofOver([node])).toBeNull();
    node.transactions.set('paid', paying(SLOT, 4_000_000n));
    expect(await disproofOver([node])).toBe('not_in_block');
  });

  it('waits until a blockhash cannot bring the transaction back', async () => {
    const node = await nodeWith(0n);
    node.fork = '1';
    node.finalizedSlot = SLOT + 149;
    expect(await disproofOver([node])).toBeNull();
    node.finalizedSlot = SLOT + 150;
    expect(await disproofOver([node])).toBe('reorg');
  });

  it('needs two providers where there are two', async () => {
    const [gone, silent, down] = [
      await nodeWith(0n),
      await silentNode(['getTransaction', 'getSignatureStatuses']),
      await nodeWith(0n),
    ];
    gone.fork = '1';
    down.override = () => ({ status: 503 });
    expect(await disproofOver([gone, silent])).toBeNull();
    expect(await disproofOver([gone, down])).toBeNull();
    const second = await nodeWith(0n);
    second.fork = '1';
    expect(await disproofOver([gone, second])).toBe('reorg');
  });
});
