import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EvmOutgoing, type EvmOutgoingOptions } from '../../src/adapters/evm/outgoing.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import { nativeLimitsOf } from '../../src/domain/networks/native-limits.ts';
import { ChainUnavailable } from '../../src/ports/chain/chain.ts';
import {
  type Fate,
  NOTHING_RESERVED,
  type LandedTransaction,
  type OutgoingTransaction,
  type SentTransaction,
  validityOf,
} from '../../src/ports/outgoing/transaction.ts';
import { EvmView } from '../../src/signer/chains/evm-view.ts';
import { signedBytesOf } from '../../src/signer/chains/outgoing-bytes.ts';
import type { SignedEntry } from '../../src/signer/journal/journal.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { outgoing } from '../support/outgoing.ts';
import type { TokenChain } from '../support/tokens.ts';

export const PAYEE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
export const DEPTH = 12;
/** More than the chain needs to call a block final. */
const FINAL_AFTER = 70;

/** Payouts on one real node: those of the service, and the signer's look at them. */
export class PayoutBench {
  readonly chain: TokenChain;
  readonly wallet = new Wallet('test test test test test test test test test test test junk');
  readonly treasury = this.wallet.treasury.evm;
  readonly order: OutgoingTransaction;
  readonly payouts: EvmOutgoing;
  readonly view: EvmView;
  readonly #opened: EvmOutgoing[] = [];

  private constructor(chain: TokenChain) {
    this.chain = chain;
    this.order = outgoing({
      ...{ kind: 'refund', id: 're_a-1', network: 'ethereum', coin: 'USDT', amount: '5.00' },
      ...{ fromAddress: this.treasury, toAddress: PAYEE },
    });
    this.payouts = this.open([chain.url]);
    const { network, mode, chainId, tokens } = chain.settings;
    this.view = new EvmView({ network, mode, chainId, tokens, urls: [chain.url] }, nativeLimitsOf('ethereum'));
  }

  /** The treasury holds 10 ETH and 1,000 USDT. */
  static async on(chain: TokenChain): Promise<PayoutBench> {
    const bench = new PayoutBench(chain);
    await chain.fund(bench.treasury, 10n ** 19n);
    await chain.send('USDT', 'transfer', [bench.treasury, 1_000_000_000n]);
    await chain.mine();
    return bench;
  }

  open(urls: readonly string[], change: Partial<EvmOutgoingOptions> = {}): EvmOutgoing {
    const opened = new EvmOutgoing({
      ...{ settings: this.chain.settings, pool: createRpcPool({ network: 'ethereum', urls }), depth: DEPTH },
      ...{ maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 12n, fallbackTip: 10n ** 9n, bumpAfterMs: 1 },
      ...change,
    });
    this.#opened.push(opened);
    return opened;
  }

  async signed(draft: TransactionDraft, of: OutgoingTransaction = this.order): Promise<SentTransaction> {
    return { ...(await signedBytesOf(draft, of, this.wallet)), validity: validityOf(draft) };
  }

  async landedOf(payout: SentTransaction): Promise<LandedTransaction> {
    const fate = await this.payouts.fate(this.order, [payout]);
    if (fate.kind !== 'landed') throw new Error(`${fate.kind} instead of landed`);
    return fate.landed;
  }

  async fateOf(...sent: SentTransaction[]): Promise<Fate['kind']> {
    return (await this.payouts.fate(this.order, sent)).kind;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((each) => each.close()));
    await this.chain.close();
  }
}

/** What every EVM node's word about payouts must come to; `open` starts one whose finality lags 64 blocks. */
export function describePayouts(name: string, open: () => Promise<TokenChain>): void {
  describe(`a payout on ${name}`, () => {
    let bench: PayoutBench;
    beforeEach(async () => {
      bench = await PayoutBench.on(await open());
    });
    afterEach(() => bench.close());

    test('that was dropped is sent again with the same bytes, and lands once', async () => {
      const { chain, payouts, order } = bench;
      const payout = await bench.signed(await payouts.draft(order, 0));
      await payouts.broadcast(payout);
      expect(await bench.fateOf(payout)).toBe('pending');
      await chain.dropPending();
      expect(await bench.fateOf(payout)).toBe('absent');
      await payouts.broadcast(payout);
      await chain.mine(DEPTH);
      expect(await bench.fateOf(payout)).toBe('landed');
      const [again] = await payouts.broadcast(payout);
      expect(again).toMatchObject({ kind: 'taken' });
      await chain.mine();
      expect(await chain.balanceOf('USDT', PAYEE)).toBe(5_000_000n);
    });

    test('is not covered from the moment a reorganisation takes its deposit, until that is as deep again', async () => {
      const { chain, payouts, wallet } = bench;
      const deposit = await chain.send('USDT', 'transfer', [wallet.collectionAddress('evm', 0), 20_000_000n]);
      const raw = await chain.rpc('eth_getRawTransactionByHash', [deposit]);
      expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
      await chain.mine(DEPTH);
      expect(await payouts.holds([{ txHash: deposit }])).toBe(true);
      const other = `0x${'ab'.repeat(32)}`;
      expect(await payouts.holds([{ txHash: deposit }, { txHash: other }])).toBe(false);
      await chain.rewind(DEPTH);
      expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
      await chain.mine(DEPTH);
      expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
      await chain.rpc('eth_sendRawTransaction', [raw]);
      await chain.mine();
      expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
      await chain.mine(DEPTH);
      expect(await payouts.holds([{ txHash: deposit }])).toBe(true);
      expect(await payouts.holds([])).toBe(true);
    });

    test('is replaced at a higher fee on the same nonce; only one of the two lands', async () => {
      const { chain, payouts, order } = bench;
      const draft = await payouts.draft(order, 0);
      const cheap = await bench.signed(draft);
      await payouts.broadcast(cheap);
      const bumped = (await payouts.bump(draft))!;
      expect(bumped).toMatchObject({ nonce: 0, tokenUnits: '5000000' });
      const dear = await bench.signed(bumped);
      expect(await payouts.broadcast(dear)).toMatchObject([{ kind: 'taken' }]);
      expect(await payouts.broadcast(cheap)).toMatchObject([{ kind: 'underpriced' }]);
      await chain.mine(DEPTH);
      await payouts.broadcast(cheap);
      await chain.mine();
      const fate = await payouts.fate(order, [cheap, dear]);
      expect(fate).toMatchObject({ kind: 'landed', landed: { txHash: dear.txHash } });
      expect(await chain.balanceOf('USDT', PAYEE)).toBe(5_000_000n);
    });

    test('that is cancelled moves no money: an empty transaction takes its nonce, once, and later ones can land', async () => {
      const { chain, payouts, order, view } = bench;
      const draft = await payouts.draft(order, 0);
      const payout = await bench.signed(draft);
      await payouts.broadcast(payout);
      const cancel = (await payouts.cancel(draft))!;
      expect(cancel).toMatchObject({ kind: 'evm-cancel', nonce: 0, gasLimit: '21000' });
      expect(view.faultOf(cancel, order)).toBeNull();
      expect(view.faultOf({ ...cancel, gasLimit: '21001' } as TransactionDraft, order)).not.toBeNull();
      const cancelled = await bench.signed(cancel);
      await payouts.broadcast(cancelled);
      await chain.mine(DEPTH);
      const entries = [draft, cancel].map(
        (each, index) => ({ ...[payout, cancelled][index]!, draft: each }) as unknown as SignedEntry,
      );
      expect(await bench.fateOf(payout, cancelled)).toBe('pending');
      expect(await view.hadNoEffect(entries)).toBe(false);
      const next = { ...order, id: 're_b-1', amount: '2.00' };
      await payouts.broadcast(await bench.signed(await payouts.draft(next, 1), next));
      await payouts.broadcast(payout);
      await chain.mine(FINAL_AFTER);
      expect(await payouts.fate(order, [payout, cancelled])).toMatchObject({
        kind: 'ineffective',
        txHash: cancelled.txHash,
      });
      expect(await view.hadNoEffect(entries)).toBe(true);
      expect(await chain.balanceOf('USDT', PAYEE)).toBe(2_000_000n);
    });

    test('counts as landed for the signer by its nonce, whichever of its forms used it', async () => {
      const { chain, payouts, order, view } = bench;
      const draft = await payouts.draft(order, 0);
      const [payout, bumped] = [await bench.signed(draft), await bench.signed((await payouts.bump(draft))!)];
      const entries = [payout, bumped].map((signed) => ({ ...signed, draft, fromAddress: bench.treasury }));
      await payouts.broadcast(bumped);
      for (const entry of entries) expect(await view.hasLanded(entry)).toBe(false);
      await chain.mine();
      for (const entry of entries) expect(await view.hasLanded(entry)).toBe(true);
    });

    test('waits while the network costs more than the limit', async () => {
      const thrifty = bench.open([bench.chain.url], { maxFeePerGas: 1n });
      expect(await thrifty.check(bench.order, NOTHING_RESERVED)).toMatchObject({
        kind: 'wait',
        reason: 'network_fee_too_high',
      });
    });

    test('whose nonce somebody else used raises an alarm and is never signed again', async () => {
      const { chain, payouts, order } = bench;
      const payout = await bench.signed(await payouts.draft(order, 0));
      const another = { ...order, id: 're_c-1', amount: '1.00' };
      await payouts.broadcast(await bench.signed(await payouts.draft(another, 0), another));
      await chain.mine(FINAL_AFTER);
      expect(await payouts.nextNonce(bench.treasury)).toBe(1);
      expect(await bench.fateOf(payout)).toBe('alarm');
    });

    test('that was complete and is reorganised away is detected; the same bytes land again', async () => {
      const { chain, payouts, order } = bench;
      const payout = await bench.signed(await payouts.draft(order, 0));
      await payouts.broadcast(payout);
      await chain.mine(DEPTH);
      expect(await bench.fateOf(payout)).toBe('landed');
      const landed = await bench.landedOf(payout);
      expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: false, withheld: false, final: false });
      await chain.rewind(DEPTH);
      await chain.mine(2);
      expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: true, withheld: false });
      expect(await bench.fateOf(payout)).toBe('absent');
      await payouts.broadcast(payout);
      await chain.mine(DEPTH);
      expect(await bench.fateOf(payout)).toBe('landed');
      await chain.mine(FINAL_AFTER);
      expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: false, final: true });
      expect(await chain.balanceOf('USDT', PAYEE)).toBe(5_000_000n);
    });

    test('that failed on chain releases its money only once the failure is final', async () => {
      const { chain, payouts, order, view } = bench;
      const draft = await payouts.draft(order, 0);
      const payout = await bench.signed(draft);
      await chain.send('USDT', 'addBlackList', [bench.treasury]);
      await chain.mine();
      await payouts.broadcast(payout);
      await chain.mine(DEPTH);
      const entry = { ...payout, draft } as unknown as SignedEntry;
      expect(await bench.fateOf(payout)).toBe('pending');
      expect(await view.hadNoEffect([entry])).toBe(false);
      await chain.mine(FINAL_AFTER);
      const fate = await payouts.fate(order, [payout]);
      expect(fate).toMatchObject({ kind: 'ineffective', txHash: payout.txHash });
      expect(fate.kind === 'ineffective' && Number(fate.networkFee)).toBeGreaterThan(0);
      expect(await view.hadNoEffect([entry])).toBe(true);
      expect(await chain.balanceOf('USDT', PAYEE)).toBe(0n);
    });

    test('is not signed for a frozen payee, a frozen treasury or a paused token', async () => {
      const { chain, payouts, order, treasury } = bench;
      await chain.send('USDT', 'addBlackList', [PAYEE]);
      await chain.mine();
      expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'recipient_frozen' });
      await chain.send('USDT', 'removeBlackList', [PAYEE]);
      await chain.send('USDT', 'addBlackList', [treasury]);
      await chain.mine();
      expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'sender_frozen' });
      await chain.send('USDT', 'removeBlackList', [treasury]);
      await chain.send('USDT', 'pause', []);
      await chain.mine();
      expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'token_paused' });
    });

    test('is known to be impossible when the token refuses it or cannot express it, and only then', async () => {
      const { chain, payouts, order } = bench;
      const tooFine = { ...order, amount: '0.0000001' };
      await expect(payouts.check(tooFine, NOTHING_RESERVED)).rejects.toMatchObject({ reason: 'amount_not_payable' });
      const tooMuch = { ...order, amount: '1000.01' };
      await expect(payouts.draft(tooMuch, 0)).rejects.toThrow(ChainUnavailable);
      await chain.send('USDT', 'addBlackList', [bench.treasury]);
      await chain.mine();
      await expect(payouts.draft(order, 0)).rejects.toMatchObject({
        name: 'TransferImpossible',
        reason: 'transfer_rejected',
      });
    });

    test('that owes what earlier ones still owe, too, waits for funds', async () => {
      const { payouts, order } = bench;
      const reserved = { coins: { USDT: 996n * 10n ** 18n }, payouts: 1 };
      expect(await payouts.check(order, reserved)).toMatchObject({ kind: 'wait', reason: 'insufficient_funds' });
      expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
    });
  });
}
