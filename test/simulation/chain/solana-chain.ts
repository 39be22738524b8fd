import { hash } from 'node:crypto';
import { base58, fromBase58 } from '../../../src/chain-formats/base58.ts';
import { NOBODY, type ChainView, type Executed, type Movement, type PoolTransaction } from './block.ts';
import { ASSOCIATED_TOKEN_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAM, tokenAccountOf } from './solana-addresses.ts';
import { heldBy, type SolanaBlock, type SolanaIncluded, type SolanaReceipt } from './solana-block.ts';
import { feeOf, readTransaction, unitPriceOf, type Message, type SolanaSigned } from './solana-message.ts';
import { paymentMessage, type Payment } from './solana-payment.ts';
import {
  Failed,
  lamportsKey,
  nonceKey,
  numberOf,
  rentOf,
  runAll,
  SYSTEM,
  TOKEN,
  TOKEN_ACCOUNT_BYTES,
  tokensKey,
  type State,
  type TokenAccount,
} from './solana-programs.ts';
import { SimulatedChain } from './simulated-chain.ts';

type SolanaTransaction = PoolTransaction<SolanaSigned>;
type View = ChainView<SolanaBlock>;
export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** For so many blocks a blockhash may be named. */
const BLOCKHASH_BLOCKS = 150;
/** Slots from a block to the votes of two thirds for it. */
const CONFIRMED_AFTER = 2;
/** What payers hold is no concern of this model. */
const PLENTY = 10n ** 15n;

/** Changes that are kept or thrown away together. */
class Draft implements State {
  readonly changes = new Map<string, bigint>();
  readonly isFrozen: State['isFrozen'];
  readonly nextNonce: bigint;
  readonly #chain: SolanaChain;
  readonly #view: View;
  readonly #handedOver = new Map<string, TokenAccount>();

  constructor(chain: SolanaChain, block: SolanaBlock) {
    this.#chain = chain;
    this.#view = chain.view;
    this.nextNonce = chain.nonceOf(block);
    this.isFrozen = (owner) => chain.isFrozen(owner);
  }

  get(key: string): bigint {
    return this.changes.get(key) ?? this.#chain.valueAt(key, this.#view);
  }

  set(key: string, value: bigint): void {
    this.changes.set(key, value);
  }

  tokenAccountAt(address: string): TokenAccount | null {
    return this.#handedOver.get(address) ?? this.#chain.tokenAccounts.get(address) ?? null;
  }

  handOver(address: string, owner: string): void {
    const before = this.tokenAccountAt(address)!;
    const after = { ...before, owner };
    this.#handedOver.set(address, after);
    this.set(tokensKey(after), this.get(tokensKey(before)));
  }
}

/**
 * Solana: slots with a block or without one, blockhashes that expire, durable nonces, programs over accounts that pay
 * rent, and fees in lamports.
 */
export class SolanaChain extends SimulatedChain<SolanaSigned, SolanaReceipt> {
  /** Every token account that anybody ever named, by its address; whether it is there, its lamports tell. */
  readonly tokenAccounts = new Map<string, TokenAccount>();
  /** Transactions by the accounts that they name. */
  readonly #naming = new Map<string, Set<string>>();
  readonly #payments = new Map<string, Payment>();
  readonly #heights = new WeakMap<SolanaBlock, number>();

  /** What somebody hands in. Throws `InvalidTransaction`; what can land no more is forgotten without a word. */
  submit(bytes: Buffer): string {
    const signed = readTransaction(bytes);
    if (this.isKnown(signed.txHash) || this.hasEnded(signed)) return signed.txHash;
    this.#learnAccounts(signed);
    return this.take({ txHash: signed.txHash, signed, movements: this.#movementsOf(signed) });
  }

  /** The newest block that a commitment shows. */
  at(commitment: Commitment, { branch, height }: View): View {
    const behind = { processed: height, confirmed: height - CONFIRMED_AFTER, finalized: this.finalizedIn({ height }) };
    let slot = Math.max(0, behind[commitment]);
    while (slot > 0 && branch[slot]!.isSkipped) slot -= 1;
    return { branch, height: slot };
  }

  /** The block that one was built on. */
  parentOf({ number }: SolanaBlock, { branch }: Pick<View, 'branch'>): SolanaBlock | null {
    for (let slot = number - 1; slot >= 0; slot -= 1) if (!branch[slot]!.isSkipped) return branch[slot]!;
    return null;
  }

  /** How many blocks there are up to one, whose number is that of its slot. */
  heightOf(block: SolanaBlock, view: Pick<View, 'branch'>): number {
    const above: SolanaBlock[] = [];
    let below: SolanaBlock | null = block;
    while (below && !this.#heights.has(below)) {
      above.push(below);
      below = this.parentOf(below, view);
    }
    let height = below ? this.#heights.get(below)! : -1;
    for (const one of above.reverse()) this.#heights.set(one, (height += 1));
    return height;
  }

  /** Whether a transaction that names it may be in the next block of the view. */
  isRecent(blockhash: string, view: View): boolean {
    const newest = view.branch[view.height]!;
    for (let block: SolanaBlock | null = newest; block; block = this.parentOf(block, view)) {
      if (this.heightOf(newest, view) - this.heightOf(block, view) > BLOCKHASH_BLOCKS) return false;
      if (block.hash === blockhash) return true;
    }
    return false;
  }

  /** What a nonce account holds that is advanced in a block. */
  nonceOf(block: SolanaBlock): bigint {
    const parent = this.parentOf(block, this.view);
    const text = Buffer.concat([Buffer.from('DURABLE_NONCE'), fromBase58(parent?.hash ?? block.hash)!]);
    return BigInt(`0x${hash('sha256', text)}`);
  }

  override payerOf(movement: Movement, txHash: string): string {
    return this.#payments.get(txHash)?.isHandedOver ? NOBODY : movement.from;
  }

  isFrozen(owner: string): boolean {
    return this.isPaused || this.frozen.has(owner);
  }

  /** Those that name an account, newest first. */
  naming(account: string, view: View): SolanaIncluded[] {
    const found = [...(this.#naming.get(account) ?? [])].flatMap((txHash) => {
      const block = this.blockOf(txHash, view);
      const index = block?.included.findIndex(({ transaction }) => transaction.txHash === txHash) ?? -1;
      return block ? [{ slot: block.number, index, included: block.included[index]! }] : [];
    });
    return found.sort((one, other) => other.slot - one.slot || other.index - one.index).map(({ included }) => included);
  }

  protected override execute(
    _: SolanaTransaction,
    signed: SolanaSigned,
    block: SolanaBlock,
  ): Executed<SolanaReceipt> | null {
    const fee = feeOf(signed);
    const feePayer = lamportsKey(signed.keys[0]!);
    const paid = this.valueAt(feePayer, this.view) - fee;
    if (!this.#mayLand(signed, block) || unitPriceOf(signed) < block.price || paid < rentOf(0)) return null;
    const draft = new Draft(this, block);
    const before = heldBy(signed.keys, draft);
    draft.set(feePayer, paid);
    const err = attempt(signed, draft);
    if (err !== null) {
      draft.changes.clear();
      draft.set(feePayer, paid);
      // What a nonce protects must not land a second time because it failed.
      const advanced = advancedBy(signed);
      if (advanced !== null) draft.set(nonceKey(advanced), draft.nextNonce);
    }
    for (const [key, value] of draft.changes) this.set(key, value, block);
    const { keys, signers, txHash } = signed;
    this.#note(signed, txHash);
    const after = heldBy(keys, draft);
    return { succeeded: err === null, hasMoved: true, receipt: { err, fee, keys, signers, before, after } };
  }

  /** As of somebody who has plenty, and whose accounts are no concern of this model. */
  protected override executePayment(transaction: SolanaTransaction, block: SolanaBlock): Executed<SolanaReceipt> {
    const { txHash } = transaction;
    const message = this.#paymentOf(transaction);
    const { keys, signers, sources } = message;
    const draft = new Draft(this, block);
    for (const [address, account] of sources) {
      draft.set(tokensKey(account), PLENTY);
      draft.set(lamportsKey(address), rentOf(TOKEN_ACCOUNT_BYTES));
    }
    for (const signer of keys.slice(0, signers)) draft.set(lamportsKey(signer), PLENTY);
    const before = heldBy(keys, draft);
    const fee = feeOf(message);
    draft.set(lamportsKey(keys[0]!), PLENTY - fee);
    const err = attempt(message, draft);
    const after = err === null ? heldBy(keys, draft) : before;
    // Token accounts are there from then on.
    if (err === null)
      for (const key of keys)
        if (this.tokenAccounts.has(key)) this.set(lamportsKey(key), draft.get(lamportsKey(key)), block);
    this.#note(message, txHash);
    return { succeeded: err === null, receipt: { err, fee, keys, signers, before, after } };
  }

  /** The place of the account that receives, in the transaction. */
  protected override logIndexes(movements: readonly Movement[], { keys }: SolanaReceipt): number[] {
    return movements.map(({ asset, to }) => keys.indexOf(tokenAccountOf(to, asset)));
  }

  /** Who offers most goes first. */
  protected override inOrder(own: readonly SolanaTransaction[]): readonly SolanaTransaction[] {
    return own.toSorted((one, other) => Number(unitPriceOf(other.signed!) - unitPriceOf(one.signed!)));
  }

  /** A signature. */
  protected override hashOf(digits: string): string {
    return base58(hash('sha512', digits, 'buffer'));
  }

  protected override blockHashOf(digits: string): string {
    return base58(Buffer.from(digits, 'hex'));
  }

  protected override remadeSec(timeSec: number): number {
    return timeSec;
  }

  /** Its blockhash is too old, or its nonce was used: as the newest block has it. */
  protected override hasEnded(signed: SolanaSigned): boolean {
    const nonce = advancedBy(signed);
    return nonce === null
      ? !this.isRecent(signed.blockhash, this.view)
      : this.valueAt(nonceKey(nonce), this.view) !== numberOf(signed.blockhash);
  }

  /** A nonce is not advanced twice in one block. */
  #mayLand(signed: SolanaSigned, block: SolanaBlock): boolean {
    return (
      !this.hasEnded(signed) && (advancedBy(signed) === null || this.nonceOf(block) !== numberOf(signed.blockhash))
    );
  }

  #paymentOf({ txHash, movements }: SolanaTransaction): Payment {
    let payment = this.#payments.get(txHash);
    if (!payment) {
      const isOpen = (owner: string, mint: string): boolean =>
        this.valueAt(lamportsKey(tokenAccountOf(owner, mint)), this.view) > 0n;
      this.#payments.set(txHash, (payment = paymentMessage(txHash, movements, isOpen)));
      for (const [address, account] of payment.sources) this.tokenAccounts.set(address, account);
      this.#learnAccounts(payment);
    }
    return payment;
  }

  /** Whose the token accounts are that a transaction may make. */
  #learnAccounts({ instructions }: Message): void {
    for (const { program, accounts } of instructions) {
      const [, address, owner, mint] = accounts;
      if (program === ASSOCIATED_TOKEN_PROGRAM && tokenAccountOf(owner!, mint!) === address)
        this.tokenAccounts.set(address, { owner: owner!, mint: mint! });
    }
  }

  #note({ keys }: Message, txHash: string): void {
    for (const key of keys) {
      let named = this.#naming.get(key);
      if (!named) this.#naming.set(key, (named = new Set()));
      named.add(txHash);
    }
  }

  /** What it would move; transfers to one account are one to whoever looks at balances. */
  #movementsOf({ instructions }: SolanaSigned): Movement[] {
    const moved = new Map<string, Movement>();
    for (const { program, accounts, data } of instructions) {
      const bytes = Buffer.from(data);
      const isNative = program === SYSTEM_PROGRAM && bytes.readUInt32LE(0) === SYSTEM.transfer;
      if (!isNative && program !== TOKEN_PROGRAM) continue;
      const movement = isNative
        ? { asset: 'native', from: accounts[0]!, to: accounts[1]!, units: bytes.readBigUInt64LE(4) }
        : this.#tokensMoved(accounts, bytes);
      if (movement === null) continue;
      const name = `${movement.asset} ${movement.from} ${movement.to}`;
      moved.set(name, { kind: 'transfer', ...movement, units: (moved.get(name)?.units ?? 0n) + movement.units });
    }
    return [...moved.values()];
  }

  #tokensMoved(accounts: readonly string[], bytes: Buffer): Omit<Movement, 'kind'> | null {
    const [source, target] = [accounts[0]!, accounts[bytes[0] === TOKEN.transferChecked ? 2 : 1]!].map((address) =>
      this.tokenAccounts.get(address),
    );
    return source && target
      ? { asset: source.mint, from: source.owner, to: target.owner, units: bytes.readBigUInt64LE(1) }
      : null;
  }
}

/** What went wrong, as `meta.err` says it; null for nothing. */
function attempt(message: Message, state: State): unknown {
  try {
    runAll(message, state);
    return null;
  } catch (error) {
    if (error instanceof Failed) return error.err;
    throw error;
  }
}

/** The nonce account whose value a transaction names in place of a blockhash. */
function advancedBy({ instructions }: Message): string | null {
  const [first] = instructions;
  if (first?.program !== SYSTEM_PROGRAM) return null;
  return Buffer.from(first.data).readUInt32LE(0) === SYSTEM.advanceNonce ? first.accounts[0]! : null;
}
