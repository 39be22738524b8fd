import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { SolanaOutgoing } from '../../src/adapters/solana/outgoing.ts';
import { TronOutgoing } from '../../src/adapters/tron/outgoing.ts';
import type { TokenDraft } from '../../src/domain/events/transaction-draft.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { type OutgoingTransaction, type SentTransaction, validityOf } from '../../src/ports/outgoing/transaction.ts';
import { startTronFacade, type TronSandbox } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import type { SignedEntry } from '../../src/signer/journal/journal.ts';
import { SolanaView } from '../../src/signer/chains/solana-view.ts';
import { TronView } from '../../src/signer/chains/tron-view.ts';
import { signedBytesOf } from '../../src/signer/chains/outgoing-bytes.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { base58 } from '../../src/chain-formats/base58.ts';
import { nonceAccountOf } from '../../src/chain-formats/solana-nonce.ts';
import { outgoing } from '../support/outgoing.ts';
import {
  MAINNET_GENESIS,
  mintAccount,
  nonceAccount,
  playSolanaNode,
  TOKEN_PROGRAM,
  type PlayedSolanaNode,
} from '../support/solana-node.ts';
import { tronProxyBefore, withoutInfos } from '../support/tron-proxy.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * The moment at which a payout can no longer land is the moment at which another may be signed: one block too early
 * pays twice.
 */

const wallet = new Wallet('test test test test test test test test test test test junk');
const orderOn = (network: 'tron' | 'solana', toAddress: string): OutgoingTransaction =>
  outgoing({
    kind: 'refund',
    id: 're_a-1',
    network,
    coin: 'USDT',
    amount: '5.00',
    fromAddress: wallet.treasury[network],
    toAddress,
  });
const entryOf = (payout: SentTransaction, draft: TokenDraft): SignedEntry =>
  ({ ...payout, draft }) as unknown as SignedEntry;

describe('a payout on TRON whose expiration comes', () => {
  const BLOCK_MS = 3_000;
  const LIFETIME_MS = 30_000;
  /** Blocks until one is solid, and those that a balancer's other machine may lack. */
  const SOLID = 19;
  const LAG_BLOCKS = 20;
  let nowMs = 1_800_000_000_000;
  let directory: string;
  let sandbox: TronSandbox;
  let payouts: TronOutgoing;
  let view: TronView;
  let order: OutgoingTransaction;
  beforeAll(async () => {
    directory = temporaryFolder('refund-expiry');
    const started = await startTronFacade({ directory, manual: true, nowMs: () => nowMs });
    if ('reason' in started) throw new Error(started.reason);
    sandbox = started;
    await sandbox.fundTreasury!(wallet.treasury.tron);
    const { settings, rpcUrl: url } = sandbox;
    payouts = new TronOutgoing({
      settings,
      pool: createRpcPool({ network: 'tron', urls: [url] }),
      lifetimeMs: LIFETIME_MS,
    });
    view = new TronView({
      mode: 'test',
      network: 'tron',
      chainId: settings.chainId,
      tokens: settings.tokens,
      urls: [url],
    });
    order = orderOn('tron', sandbox.addressOf('second'));
    mine(SOLID);
  });
  afterAll(async () => {
    await payouts.close();
    await sandbox.close();
  });

  function mine(count: number): void {
    for (let block = 0; block < count; block += 1) {
      nowMs += BLOCK_MS;
      sandbox.mine(1);
    }
  }
  async function signed(): Promise<{ payout: SentTransaction; draft: Extract<TokenDraft, { kind: 'tron' }> }> {
    const draft = (await payouts.draft(order)) as Extract<TokenDraft, { kind: 'tron' }>;
    return { draft, payout: { ...(await signedBytesOf(draft, order, wallet)), validity: validityOf(draft) } };
  }
  const fateOf = async (payout: SentTransaction) => (await payouts.fate(order, [payout])).kind;

  it('and that lands in the last possible block is never followed by another', async () => {
    const { payout, draft } = await signed();
    const next = { ...draft, expirationMs: draft.expirationMs + LIFETIME_MS };
    while (nowMs + BLOCK_MS < draft.expirationMs) mine(1);
    expect(await fateOf(payout)).toBe('absent');
    await payouts.broadcast(payout);
    // The block that holds it is later than the expiration: a node asks whether the block before was.
    mine(1);
    expect(nowMs).toBeGreaterThanOrEqual(draft.expirationMs);
    for (let block = 0; block < SOLID; block += 1) {
      expect(await fateOf(payout)).toBe('pending');
      expect(await view.mayFollow([entryOf(payout, draft)], next)).toBe(false);
      mine(1);
    }
    expect(await fateOf(payout)).toBe('landed');
    mine(LAG_BLOCKS + 1);
    expect(await fateOf(payout)).toBe('landed');
    expect(await view.mayFollow([entryOf(payout, draft)], next)).toBe(false);
  });

  it('is not followed by another because a provider shows no receipt: the blocks of its time list it', async () => {
    const { payout, draft } = await signed();
    await payouts.broadcast(payout);
    const proxy = await tronProxyBefore(sandbox.rpcUrl);
    const { settings } = sandbox;
    const through = new TronOutgoing({
      settings,
      pool: createRpcPool({ network: 'tron', urls: [proxy.url] }),
      lifetimeMs: LIFETIME_MS,
    });
    try {
      mine(1);
      while (nowMs < draft.expirationMs) mine(1);
      mine(SOLID + LAG_BLOCKS + 1);
      proxy.change = withoutInfos;
      expect(await through.fate(order, [payout])).toEqual({ kind: 'pending', inBlock: true });
      proxy.change = () => undefined;
      expect((await through.fate(order, [payout])).kind).toBe('landed');
    } finally {
      await through.close();
      await proxy.close();
    }
  });

  it('is followed by another only when solid time is well past it', async () => {
    const { payout, draft } = await signed();
    const next = { ...draft, expirationMs: draft.expirationMs + LIFETIME_MS };
    const may = (): Promise<boolean> => view.mayFollow([entryOf(payout, draft)], next);
    while (nowMs < draft.expirationMs) mine(1);
    expect([await fateOf(payout), await may()]).toEqual(['pending', false]);
    mine(SOLID + LAG_BLOCKS - 1);
    expect([await fateOf(payout), await may()]).toEqual(['pending', false]);
    mine(1);
    expect([await fateOf(payout), await may()]).toEqual(['never', true]);
    // What one provider does not confirm is not proven, and what stands beside the bytes says nothing.
    const { mode, chainId, tokens } = sandbox.settings;
    const ofTwo = new TronView({
      mode,
      network: 'tron',
      chainId,
      tokens,
      urls: [sandbox.rpcUrl, 'http://127.0.0.1:1'],
    });
    await expect(ofTwo.mayFollow([entryOf(payout, draft)], next)).rejects.toThrow(/not every provider/);
    const later = { ...draft, expirationMs: draft.expirationMs + 10 * LIFETIME_MS };
    const long = { ...(await signedBytesOf(later, order, wallet)), validity: validityOf(later) };
    expect(await view.mayFollow([entryOf({ ...long, validity: payout.validity }, draft)], next)).toBe(false);
    // Whoever kept the bytes is too late.
    await payouts.broadcast(payout);
    mine(SOLID + 1);
    expect(await fateOf(payout)).toBe('never');
  });
});

describe('a payout on Solana that names a nonce', () => {
  const MINT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
  const [NONCE, NEXT_NONCE] = [1, 2].map((digit) => base58(Buffer.alloc(32, digit)));
  const draft: Extract<TokenDraft, { kind: 'solana' }> = {
    kind: 'solana',
    tokenAddress: MINT,
    tokenUnits: '5000000',
    decimals: 6,
    computeUnitPrice: '1000',
    nonceIndex: 3,
    nonce: NONCE!,
  };
  const order = orderOn('solana', wallet.solanaPublicKeys(7, 1)[0]!);
  const treasury = wallet.treasury.solana;
  let node: PlayedSolanaNode;
  let payouts: SolanaOutgoing;
  let view: SolanaView;
  let payout: SentTransaction;
  let status: { err: unknown; confirmationStatus: string; slot: number } | null;
  let answeredSlot: number;
  beforeEach(async () => {
    node = await playSolanaNode(5_000);
    node.accounts.set(MINT, mintAccount());
    [status, answeredSlot] = [null, 5_000];
    const hasHistory = (params: readonly unknown[]): boolean =>
      (params[1] as { searchTransactionHistory?: boolean } | undefined)?.searchTransactionHistory === true;
    node.override = ({ method, params }) => {
      if (method === 'getRecentPrioritizationFees') return { result: [] };
      if (method !== 'getSignatureStatuses') return undefined;
      return {
        result: {
          context: { slot: answeredSlot },
          value: (params[0] as string[]).map(() => (hasHistory(params) ? status : null)),
        },
      };
    };
    store(3, NONCE!);
    const settings: NetworkSettings = {
      network: 'solana',
      mode: 'test',
      chainId: MAINNET_GENESIS,
      tokens: [{ coin: 'USDT', address: MINT, decimals: 6 }],
      ...{ simulated: false, mainNetwork: true, explorerTransactionUrl: null },
    };
    payouts = new SolanaOutgoing({
      settings,
      pool: createRpcPool({ network: 'solana', urls: [node.url] }),
      maxPrice: 25_000_000,
    });
    view = new SolanaView({
      mode: 'test',
      network: 'solana',
      chainId: MAINNET_GENESIS,
      tokens: settings.tokens,
      urls: [node.url],
    });
    payout = { ...(await signedBytesOf(draft, order, wallet)), validity: validityOf(draft) };
  });
  afterEach(async () => {
    await payouts.close();
    await node.close();
  });

  const store = (index: number, nonce: string, change: Parameters<typeof nonceAccount>[2] = {}): unknown =>
    node.accounts.set(nonceAccountOf(treasury, index), nonceAccount(treasury, nonce, change));
  const fateOf = async () => (await payouts.fate(order, [payout])).kind;
  const may = (next: TokenDraft = { ...draft, nonce: NEXT_NONCE! }) => view.mayFollow([entryOf(payout, draft)], next);
  const hadNone = () => view.hadNoEffect([entryOf(payout, draft)]);

  it('is broadcast again in the same bytes while the nonce is unused, and followed only by the same at another price', async () => {
    expect([await fateOf(), await may(), await hadNone()]).toEqual(['absent', false, false]);
    expect(await may({ ...draft, computeUnitPrice: '2000' })).toBe(true);
    expect(await may({ ...draft, nonceIndex: 4 })).toBe(false);
    expect(await payouts.bump(draft)).toEqual({ ...draft, computeUnitPrice: '2000' });
    expect(await payouts.bump({ ...draft, computeUnitPrice: '25000000' })).toBeNull();
  });

  it('is believed lost by nobody when the nonce is used and no node shows by what', async () => {
    store(3, NEXT_NONCE!);
    expect([await fateOf(), await may(), await hadNone()]).toEqual(['pending', false, false]);
  });

  it('had no effect once it is finalized and failed, and not before', async () => {
    store(3, NEXT_NONCE!);
    status = { err: { InstructionError: [3, { Custom: 1 }] }, confirmationStatus: 'confirmed', slot: 4_990 };
    expect([await fateOf(), await hadNone()]).toEqual(['pending', false]);
    status = { ...status, confirmationStatus: 'finalized' };
    expect(await hadNone()).toBe(true);
    expect(await may()).toBe(false);
  });

  it.each(['processed', 'confirmed', 'finalized'])(
    'is not given up while anybody shows it as %s',
    async (confirmationStatus) => {
      store(3, NEXT_NONCE!);
      status = { err: null, confirmationStatus, slot: 4_990 };
      expect([await fateOf(), await may(), await hadNone()]).toEqual(['pending', false, false]);
    },
  );

  it('says so where a node keeps its status and not the transaction itself', async () => {
    store(3, NEXT_NONCE!);
    status = { err: null, confirmationStatus: 'finalized', slot: 4_990 };
    expect(await fateOf()).toBe('pending');
    node.firstKeptSlot = 4_991;
    await expect(fateOf()).rejects.toThrow('keeps nothing of slot 4990 any more');
  });

  it('is not judged by a machine that lags behind its provider', async () => {
    answeredSlot = 4_000;
    await expect(fateOf()).rejects.toThrow(/providers answered/);
  });

  it('is drawn up with a nonce that nothing was signed with, or not at all', async () => {
    expect(await payouts.draft(order, null, {})).toMatchObject({ nonceIndex: 3, nonce: NONCE });
    expect(await payouts.draft(order, null, { 3: NONCE! })).toBeNull();
    store(5, NEXT_NONCE!);
    expect(await payouts.draft(order, null, { 3: NONCE! })).toMatchObject({ nonceIndex: 5, nonce: NEXT_NONCE });
  });

  it('is signed only with the value that the signer finds in an account of the treasury', async () => {
    const fault = (change: Partial<typeof draft> = {}): Promise<string | null> =>
      view.sequenceFault({ ...draft, ...change }, treasury);
    expect(await fault()).toBeNull();
    expect(await fault({ nonce: base58(Buffer.alloc(32, 9)) })).not.toBeNull();
    expect(await fault({ nonceIndex: 4 })).not.toBeNull();
    for (const change of [
      { owner: TOKEN_PROGRAM },
      { version: 0 },
      { state: 0 },
      { authority: order.toAddress },
      { bytes: 79 },
    ]) {
      store(3, NONCE!, change);
      expect(await fault(), JSON.stringify(change)).not.toBeNull();
    }
  });
});
