import type { ChainView } from './block.ts';
import { bytesOf, CLOCK_SYSVAR, SYSTEM_PROGRAM, TOKEN_PROGRAM } from './solana-addresses.ts';
import { render, renderListed, type SolanaBlock } from './solana-block.ts';
import type { Commitment, SolanaChain } from './solana-chain.ts';
import { InvalidTransaction } from './solana-message.ts';
import { authorityKey, lamportsKey, nonceKey, rentOf, spaceKey, tokensKey } from './solana-programs.ts';
import { SimulatedProvider } from './simulated-provider.ts';

type View = ChainView<SolanaBlock>;

interface Options {
  readonly commitment?: Commitment;
  readonly minContextSlot?: number;
  readonly encoding?: string;
  readonly dataSlice?: { readonly offset: number; readonly length: number };
  readonly transactionDetails?: string;
  readonly until?: string;
  readonly before?: string;
  readonly limit?: number;
}

interface Account {
  readonly owner: string;
  readonly lamports: bigint;
  readonly data: Buffer;
}

/** By Agave's codes (`rpc-client-api/src/custom_error.rs`). */
class RpcFailure extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const [NOT_AVAILABLE, SKIPPED, MIN_CONTEXT, BAD_SIGNATURE, NOT_FOUND] = [-32_004, -32_007, -32_016, -32_003, -32_020];
const INVALID = -32_602;
const [MOST_SIGNATURES, MOST_ACCOUNTS] = [1_000, 100];
const FEE_SLOTS = 20;
const INITIALISED = 1;

/** One JSON-RPC server in front of the chain: the calls that the service makes. Any other one ends the run. */
export class SolanaProvider extends SimulatedProvider<SolanaChain> {
  protected readonly family = 'solana';

  protected override answer({ body }: { readonly body: string }): object {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] };
    try {
      return { jsonrpc: '2.0', id, result: this.#answer(method, params) };
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } };
    }
  }

  #answer(method: string, [first, second]: readonly unknown[]): unknown {
    const { chain } = this;
    const newest = this.view();
    const options = ((method === 'getSlot' ? first : second) ?? {}) as Options;
    const view = chain.at(options.commitment ?? 'finalized', newest);
    if (options.minContextSlot !== undefined && view.height < options.minContextSlot)
      throw new RpcFailure(MIN_CONTEXT, 'Minimum context slot has not been reached');
    const inContext = (value: unknown): object => ({ context: { slot: view.height }, value });
    switch (method) {
      case 'getGenesisHash':
        return chain.options.chainId;
      case 'getSlot':
        return view.height;
      case 'getBlock':
        return this.#block(Number(first), options, newest);
      case 'getBlocksWithLimit':
        return slotsFrom(Number(first), Number(second), chain.at('finalized', newest));
      case 'getMultipleAccounts':
        if ((first as readonly string[]).length > MOST_ACCOUNTS)
          throw new RpcFailure(INVALID, `Too many inputs provided; max ${MOST_ACCOUNTS}`);
        return inContext((first as readonly string[]).map((address) => this.#account(address, options, view)));
      case 'getAccountInfo':
        return inContext(this.#account(String(first), options, view));
      case 'getBalance':
        return inContext(Number(chain.valueAt(lamportsKey(String(first)), view)));
      case 'getMinimumBalanceForRentExemption':
        return Number(rentOf(Number(first)));
      case 'getLatestBlockhash': {
        const block = view.branch[view.height]!;
        return inContext({ blockhash: block.hash, lastValidBlockHeight: chain.heightOf(block, view) + 150 });
      }
      case 'isBlockhashValid':
        return inContext(chain.isRecent(String(first), view));
      case 'getSignaturesForAddress':
        return this.#signatures(String(first), options, view);
      case 'getSignatureStatuses': {
        const processed = chain.at('processed', newest);
        const value = (first as readonly string[]).map((txHash) => this.#status(txHash, processed));
        return { context: { slot: processed.height }, value };
      }
      case 'getTransaction':
        return this.#transaction(String(first), view);
      case 'getFirstAvailableBlock':
        return 0;
      case 'getTokenAccountsByOwner':
        return inContext([]);
      case 'getRecentPrioritizationFees':
        return slotsFrom(Math.max(0, newest.height - FEE_SLOTS), FEE_SLOTS, newest).map((slot) => ({
          slot,
          prioritizationFee: Number(newest.branch[slot]!.price),
        }));
      case 'sendTransaction':
        return this.#take(Buffer.from(String(first), 'base64'));
      default:
        throw new Error(`the service asks a Solana node for ${method}, which the model does not serve`);
    }
  }

  /** Below finality a slot without a block cannot be told from one that has not come yet. */
  #block(slot: number, { commitment, transactionDetails }: Options, newest: View): object | null {
    const final = this.chain.at('finalized', newest);
    const shown = commitment === 'finalized' ? final : this.chain.at('confirmed', newest);
    const block = slot <= shown.height ? shown.branch[slot] : undefined;
    if (!block || (block.isSkipped && slot > final.height))
      throw new RpcFailure(NOT_AVAILABLE, `Block not available for slot ${slot}`);
    if (block.isSkipped)
      throw new RpcFailure(SKIPPED, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
    if (this.isNull()) return null;
    const parent = this.chain.parentOf(block, shown);
    return {
      ...{ blockhash: block.hash, previousBlockhash: parent?.hash ?? block.hash, parentSlot: parent?.number ?? 0 },
      ...{ blockTime: block.timeSec, blockHeight: this.chain.heightOf(block, shown) },
      ...(transactionDetails === 'signatures' && {
        signatures: block.included.map(({ transaction }) => transaction.txHash),
      }),
      ...(transactionDetails === 'accounts' && {
        transactions: block.included.map((included) => renderListed(included, block)),
      }),
    };
  }

  #account(address: string, { encoding, dataSlice }: Options, view: View): object | null {
    const account = this.#rawAccount(address, view);
    if (account === null) return null;
    const { owner, lamports, data } = account;
    const token = this.chain.tokenAccounts.get(address);
    if (encoding === 'jsonParsed' && token) {
      const tokenAmount = { amount: this.chain.valueAt(tokensKey(token), view).toString(), decimals: 6 };
      const info = { ...token, tokenAmount, state: this.chain.isFrozen(token.owner) ? 'frozen' : 'initialized' };
      return { owner, lamports: Number(lamports), data: { program: 'spl-token', parsed: { type: 'account', info } } };
    }
    const shown = dataSlice ? data.subarray(dataSlice.offset, dataSlice.offset + dataSlice.length) : data;
    return { owner, lamports: Number(lamports), data: [shown.toString('base64'), 'base64'] };
  }

  #rawAccount(address: string, view: View): Account | null {
    const { chain } = this;
    if (address === CLOCK_SYSVAR) return clockAt(view);
    if (chain.options.tokens.includes(address)) return MINT;
    const lamports = chain.valueAt(lamportsKey(address), view);
    if (lamports === 0n) return null;
    const token = chain.tokenAccounts.get(address);
    if (token) {
      const data = Buffer.alloc(165);
      data.set(bytesOf(token.mint), 0);
      data.set(bytesOf(token.owner), 32);
      data.writeBigUInt64LE(chain.valueAt(tokensKey(token), view), 64);
      data.writeUInt8(chain.isFrozen(token.owner) ? 2 : INITIALISED, 108);
      return { owner: TOKEN_PROGRAM, lamports, data };
    }
    const data = Buffer.alloc(Number(chain.valueAt(spaceKey(address), view)));
    const nonce = chain.valueAt(nonceKey(address), view);
    if (nonce > 0n) {
      data.writeUInt32LE(INITIALISED, 0);
      data.writeUInt32LE(INITIALISED, 4);
      data.write(word(chain.valueAt(authorityKey(address), view)), 8, 'hex');
      data.write(word(nonce), 40, 'hex');
      data.writeBigUInt64LE(5_000n, 72);
    }
    return { owner: SYSTEM_PROGRAM, lamports, data };
  }

  #signatures(account: string, { until, before, limit = MOST_SIGNATURES }: Options, view: View): object[] {
    if (limit > MOST_SIGNATURES) throw new RpcFailure(INVALID, `Invalid limit; max ${MOST_SIGNATURES}`);
    for (const cursor of [before, until])
      if (cursor !== undefined && !this.chain.blockOf(cursor, view))
        throw new RpcFailure(NOT_FOUND, `Transaction ${cursor} not found`);
    const named = this.chain.naming(account, view);
    const indexOf = (txHash: string | undefined): number =>
      txHash === undefined ? -1 : named.findIndex(({ transaction }) => transaction.txHash === txHash);
    const last = indexOf(until);
    return named
      .slice(indexOf(before) + 1, last < 0 ? undefined : last)
      .slice(0, limit)
      .filter(() => !this.prng.chance(this.faults.omits))
      .map(({ transaction: { txHash }, receipt: { err } }) => {
        const { number, timeSec } = this.chain.blockOf(txHash, view)!;
        return { signature: txHash, slot: number, err, memo: null, blockTime: timeSec };
      });
  }

  #status(txHash: string, view: View): object | null {
    const block = this.chain.blockOf(txHash, view);
    if (!block || this.isNull()) return null;
    const shows = (commitment: Commitment): boolean => block.number <= this.chain.at(commitment, view).height;
    const confirmationStatus = shows('finalized') ? 'finalized' : shows('confirmed') ? 'confirmed' : 'processed';
    const { err } = includedIn(block, txHash).receipt;
    return { slot: block.number, err, confirmationStatus, confirmations: null };
  }

  #transaction(txHash: string, view: View): object | null {
    const block = this.chain.blockOf(txHash, view);
    return !block || this.isNull() ? null : render(includedIn(block, txHash), block);
  }

  /** Whatever a node says, it checks nothing: `skipPreflight`. */
  #take(bytes: Buffer): string {
    const lie = this.broadcastLie();
    if (lie === 'hides') return 'hidden';
    try {
      const txHash = this.chain.submit(bytes);
      if (lie === 'denies') throw new RpcFailure(-32_603, 'Internal error');
      return txHash;
    } catch (error) {
      if (!(error instanceof InvalidTransaction)) throw error;
      throw new RpcFailure(BAD_SIGNATURE, `Transaction signature verification failure: ${error.message}`);
    }
  }
}

const word = (value: bigint): string => value.toString(16).padStart(64, '0');

const includedIn = (block: SolanaBlock, txHash: string) =>
  block.included.find(({ transaction }) => transaction.txHash === txHash)!;

const slotsFrom = (from: number, limit: number, { branch, height }: View): number[] =>
  branch
    .slice(from, height + 1)
    .filter(({ isSkipped }) => !isSkipped)
    .slice(0, limit)
    .map(({ number }) => number);

function clockAt({ branch, height }: View): Account {
  const data = Buffer.alloc(40);
  data.writeBigUInt64LE(BigInt(height), 0);
  data.writeBigInt64LE(BigInt(branch[height]!.timeSec), 32);
  return { owner: 'Sysvar1111111111111111111111111111111111111', lamports: rentOf(40), data };
}

/** With six decimals. */
const MINT: Account = {
  owner: TOKEN_PROGRAM,
  lamports: rentOf(82),
  data: Buffer.alloc(82).fill(6, 44, 45).fill(INITIALISED, 45, 46),
};
