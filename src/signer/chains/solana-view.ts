import { z } from 'zod';
import { fromTokenUnits } from '../../domain/money/money.ts';
import type { TakenAccount, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { NATIVE_COIN, NATIVE_DECIMALS } from '../../domain/networks/networks.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { PayoutNetwork } from '../../ports/signer/protocol.ts';
import type { DepositProof, NativeTransfer } from '../../domain/networks/deposit-proof.ts';
import { NONCE_ACCOUNTS, nonceAccountOf, storedNonce } from '../../chain-formats/solana-nonce.ts';
import { heldIn, TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';
import {
  agreed,
  isExactly,
  Refused,
  rpc,
  ViewUnavailable,
  type ChainView,
  type FoundDeposit,
  type FoundNativeTransfer,
  type JournaledBytes,
} from './chain-view.ts';
import { deltasOf, payerOf, tokenBalance } from './solana-balances.ts';
import { excludeEachOther } from '../exclusive.ts';
import { must } from '../../domain/values/must.ts';

const message = z.object({
  accountKeys: z.array(z.string()),
  header: z.object({ numRequiredSignatures: z.number() }),
});
const meta = z.object({
  err: z.unknown(),
  fee: z.number(),
  preBalances: z.array(z.number()),
  postBalances: z.array(z.number()),
  loadedAddresses: z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish(),
  // Without both lists a whole balance would look like money that came.
  preTokenBalances: z.array(tokenBalance),
  postTokenBalances: z.array(tokenBalance),
});
type Meta = z.infer<typeof meta>;
const transaction = z
  .object({ transaction: z.object({ signatures: z.array(z.string()), message }), meta: meta.nullable() })
  .nullable();
/** A block with `accounts` as its details, which lists accounts of look-up tables among the others. */
const listing = z.object({
  transactions: z.array(
    z.object({
      meta: meta.nullable(),
      transaction: z
        .object({
          signatures: z.array(z.string()),
          accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })),
        })
        .transform(({ signatures, accountKeys }) => ({
          signatures,
          message: {
            accountKeys: accountKeys.map(({ pubkey }) => pubkey),
            header: { numRequiredSignatures: accountKeys.filter(({ signer }) => signer).length },
          },
        })),
    }),
  ),
});
const account = z.object({
  value: z.object({ owner: z.string(), data: z.tuple([z.string(), z.string()]) }).nullable(),
});
const statuses = z.object({
  value: z.tuple([z.object({ err: z.unknown(), confirmationStatus: z.string().nullish() }).nullable()]),
});

/** The signer's view of Solana; only what is finalised counts. */
export class SolanaView implements ChainView {
  readonly #network: PayoutNetwork;

  constructor(network: PayoutNetwork) {
    this.#network = network;
  }

  async findDeposit(proof: DepositProof): Promise<FoundDeposit | null> {
    return agreed(this.#network, async (url) => {
      const bySignature = await this.#transaction(url, proof.txHash, 'finalized');
      const newest = bySignature ?? (await this.#transaction(url, proof.txHash, 'confirmed'));
      const finalized = newest === null ? await this.#listedIn(url, proof) : bySignature;
      const found = newest ?? finalized;
      if (found === null) await this.#assertKeepsAll(url);
      if (!found?.meta || OUTCOMES.solana(found.meta) !== 'moved') return null;
      const deltas = deltasOf(found.meta.preTokenBalances, found.meta.postTokenBalances);
      const txHash = must(found.transaction.signatures[0]);
      const own = deltas.find(({ accountIndex }) => accountIndex === proof.logIndex);
      const token = this.#network.tokens.find(({ address }) => address === own?.mint);
      if (!own || !token || own.owners[1] !== proof.toAddress || own.units <= 0n) return null;
      const depositKey = `solana:${txHash}:${own.accountIndex}`;
      return {
        depositKey,
        place: depositKey,
        txHash,
        coin: token.coin,
        units: fromTokenUnits(own.units, token.decimals),
        ...payerOf(deltas, own.mint),
        final: finalized !== null,
      };
    });
  }

  /** The address's balance increase in the transaction. */
  findNativeTransfer({
    txHash,
    toAddress,
  }: Pick<NativeTransfer, 'txHash' | 'toAddress'>): Promise<FoundNativeTransfer | null> {
    return agreed(this.#network, async (url) => {
      const finalized = await this.#transaction(url, txHash, 'finalized');
      const found = finalized ?? (await this.#transaction(url, txHash, 'confirmed'));
      if (!found?.meta || OUTCOMES.solana(found.meta) !== 'moved' || found.transaction.signatures[0] !== txHash)
        return null;
      const { lamports, senders } = lamportsMoved(found.transaction.message, found.meta, toAddress);
      if (lamports <= 0n) return null;
      return {
        fromAddress: senders.length === 1 ? must(senders[0]) : null,
        units: fromTokenUnits(lamports, NATIVE_DECIMALS.solana),
        final: finalized !== null,
      };
    });
  }

  faultOf(draft: TransactionDraft, order: Pick<OutgoingTransaction, 'kind' | 'coin' | 'amount'>): string | null {
    if (draft.kind !== 'solana' && draft.kind !== 'solana-nonce-account') return 'the draft is for another chain';
    if (draft.nonceIndex >= NONCE_ACCOUNTS) return 'the treasury has no such nonce account';
    // The bytes of such a draft determine their receiver.
    if ((draft.kind === 'solana-nonce-account') !== (order.kind === 'nonce_account'))
      return 'the draft is for something else';
    const namesAccount = draft.kind === 'solana' && draft.toAccount !== undefined;
    if (namesAccount && (draft.tokenAddress === null || !paysBack(order)))
      return 'only a refund or a return of tokens names the account that it pays into';
    if (draft.kind === 'solana' && draft.fromAccounts) {
      if (order.kind !== 'sweep' || draft.tokenAddress === null) return 'only a sweep of tokens names its accounts';
      if (!isAllOf(draft.fromAccounts, draft.tokenUnits)) return 'the accounts of the draft are not the whole amount';
    }
    if (draft.kind === 'solana-nonce-account' || draft.tokenAddress === null) {
      if (order.coin !== NATIVE_COIN.solana) return 'the draft moves a different coin';
      const lamports = draft.kind === 'solana' ? draft.tokenUnits : draft.lamports;
      return isExactly(lamports, order.amount, NATIVE_DECIMALS.solana) ? null : 'the draft moves a different amount';
    }
    const token = this.#network.tokens.find(({ coin }) => coin === order.coin);
    if (!token || draft.tokenAddress !== token.address || draft.decimals !== token.decimals)
      return 'the draft moves a different token';
    return isExactly(draft.tokenUnits, order.amount, token.decimals) ? null : 'the draft moves a different amount';
  }

  hasLanded({ txHash }: Pick<JournaledBytes, 'txHash'>): Promise<boolean> {
    return agreed(this.#network, async (url) => (await this.#transaction(url, txHash, 'confirmed')) !== null);
  }

  /** The treasury pays for sweeps. */
  sweepGas(): Promise<null> {
    return Promise.resolve(null);
  }

  /**
   * The value must be the one stored in the treasury's nonce account, as the signer sees it: a recent blockhash in its
   * place would land too, whatever the account holds, and so would the next one.
   */
  async sequenceFault(draft: TransactionDraft, treasury: string): Promise<string | null> {
    if (draft.kind !== 'solana') return null;
    const stored = await agreed(this.#network, async (url) => {
      const options = { encoding: 'base64', commitment: 'finalized' };
      const address = nonceAccountOf(treasury, draft.nonceIndex);
      const { value } = await this.#call(url, account, 'getAccountInfo', address, options);
      return value && storedNonce({ owner: value.owner, data: Buffer.from(value.data[0], 'base64') }, treasury);
    });
    return stored === draft.nonce ? null : `the nonce is not the one in account ${draft.nonceIndex} of the treasury`;
  }

  /** An account can be handed over or closed, so its owner is looked up each time something is signed. */
  async payeeFault(draft: TransactionDraft, payee: string): Promise<string | null> {
    if (draft.kind !== 'solana' || draft.toAccount === undefined) return null;
    const { toAccount, tokenAddress: mint } = draft;
    return agreed(this.#network, async (url) => {
      const options = { encoding: 'base64', commitment: 'confirmed' };
      const { value } = await this.#call(url, account, 'getAccountInfo', toAccount, options);
      const held = value?.owner === TOKEN_PROGRAM ? heldIn(Buffer.from(value.data[0], 'base64')) : null;
      if (held === undefined) throw new ViewUnavailable('a provider answered no data of a token account');
      if (held?.owner !== payee || held.mint !== mint) return `${toAccount} is no account of the payee for this token`;
      return held.isFrozen ? `${toAccount} is frozen` : null;
    });
  }

  /** Only the same nonce proves exclusion; time, height and silence do not. */
  mayFollow(earlier: readonly JournaledBytes[], next: TransactionDraft): Promise<boolean> {
    return Promise.resolve(earlier.every(({ draft }) => excludeEachOther(draft, next)));
  }

  /**
   * One of them is finalised and failed: it used the nonce, so no other can land. What creates a nonce account uses
   * none, so all of them must have failed.
   */
  async hadNoEffect(entries: readonly JournaledBytes[]): Promise<boolean> {
    if (!entries.every(({ draft }) => excludeEachOther(draft, must(entries[0]).draft))) return false;
    const failures = await Promise.all(entries.map(({ txHash }) => this.#hasFailed(txHash)));
    return entries.some(({ draft }) => draft.kind === 'solana') ? failures.includes(true) : !failures.includes(false);
  }

  #hasFailed(txHash: string): Promise<boolean> {
    return agreed(this.#network, async (url) => {
      const options = { searchTransactionHistory: true };
      const { value } = await this.#call(url, statuses, 'getSignatureStatuses', [txHash], options);
      const [status] = value;
      return status?.confirmationStatus === 'finalized' && OUTCOMES.solana(status) === 'nothing';
    });
  }

  /** "No such transaction" says nothing about what is older than all that a node keeps. */
  async #assertKeepsAll(url: string): Promise<void> {
    const first = await this.#call(url, z.number(), 'getFirstAvailableBlock').catch(() => 0);
    if (first > 1)
      throw new ViewUnavailable(
        `the deposit is not in the chain from slot ${first} on, and a provider keeps nothing older: name one that does`,
      );
  }

  /** In the finalised block in which it was seen: nodes forget signatures, and some keep the blocks. */
  async #listedIn(url: string, { txHash, blockNumber }: DepositProof): Promise<z.infer<typeof transaction>> {
    if (blockNumber === undefined) return null;
    const details = { encoding: 'json', transactionDetails: 'accounts', rewards: false };
    const options = { ...details, commitment: 'finalized', maxSupportedTransactionVersion: 1 };
    try {
      const { transactions } = await this.#call(url, listing, 'getBlock', blockNumber, options);
      return transactions.find((listed) => listed.transaction.signatures[0] === txHash) ?? null;
    } catch (error) {
      if (error instanceof Refused) await this.#assertKeepsAll(url);
      throw error;
    }
  }

  #transaction(url: string, txHash: string, commitment: string): Promise<z.infer<typeof transaction>> {
    const options = { commitment, encoding: 'json', maxSupportedTransactionVersion: 1 };
    return this.#call(url, transaction, 'getTransaction', txHash, options);
  }

  #call<Value>(url: string, form: z.ZodType<Value>, method: string, ...params: unknown[]): Promise<Value> {
    return rpc(this.#network, url, { method, params }, form);
  }
}

/** Whether the parts of a sweep are the whole amount, each account named once. */
const isAllOf = (taken: readonly TakenAccount[], tokenUnits: string): boolean =>
  new Set(taken.map(({ account: from }) => from)).size === taken.length &&
  taken.reduce((sum, { units }) => sum + BigInt(units), 0n) === BigInt(tokenUnits);

const paysBack = ({ kind }: Pick<OutgoingTransaction, 'kind'>): boolean => kind === 'refund' || kind === 'return';

/**
 * The address's gain, and the signer among those that lost lamports other than the fee; null if one of them did not
 * sign.
 */
function lamportsMoved(
  { accountKeys, header }: z.infer<typeof message>,
  { loadedAddresses, postBalances, preBalances, fee }: Meta,
  toAddress: string,
) {
  const keys = [...accountKeys, ...(loadedAddresses?.writable ?? []), ...(loadedAddresses?.readonly ?? [])];
  if (preBalances.length !== keys.length || postBalances.length !== keys.length)
    throw new ViewUnavailable('a provider left out what accounts hold');
  const changes = keys.map((_, index) => {
    const gained = BigInt(must(postBalances[index])) - BigInt(must(preBalances[index]));
    return index === 0 ? gained + BigInt(fee) : gained;
  });
  const place = keys.indexOf(toAddress);
  const losers = [...keys.keys()].filter((index) => must(changes[index]) < 0n);
  const senders = losers.every((index) => index < header.numRequiredSignatures)
    ? losers.map((index) => must(keys[index]))
    : [];
  return { lamports: place < 0 ? 0n : must(changes[place]), senders };
}
