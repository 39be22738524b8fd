import { transferIn, type ChainView as View, type Movement } from './block.ts';
import { render, quantity, type EvmBlock, type JsonLog } from './evm-block.ts';
import type { EvmChain } from './evm-chain.ts';
import { SimulatedProvider } from './simulated-provider.ts';

const DECIMALS = '0x313ce567';
const BALANCE = '0x70a08231';
const MANY_BALANCES = '0x6370a0823160e01b600052';
const MANY_NATIVE = /^0x73[0-9a-f]{40}3162/;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;

/** In the words of geth 1.17.10. */
class RpcFailure extends Error {
  readonly code: number;

  constructor(message: string, code = -32_000) {
    super(message);
    this.code = code;
  }
}

/** A full node keeps the states of its newest blocks, and knows the hashes of more of them; here fewer than geth. */
const STATES_KEPT = 128;
const HASHES_KEPT = 1_000;

type ChainView = View<EvmBlock>;

/** One JSON-RPC server in front of the chain. */
export class EvmProvider extends SimulatedProvider<EvmChain> {
  protected readonly family = 'evm';

  protected override answer({ body }: { readonly body: string }): object {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: never[] };
    try {
      return { jsonrpc: '2.0', id, result: this.#answer(method, params) };
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } };
    }
  }

  #answer(method: string, params: readonly never[]): unknown {
    const { chain } = this;
    const view = this.view();
    const [first, second] = params as readonly unknown[];
    switch (method) {
      case 'eth_chainId':
        return quantity(BigInt(chain.options.chainId));
      case 'eth_blockNumber':
        return quantity(view.height);
      case 'eth_getBlockByNumber':
        return blockAt(view, this.#height(first, view), second === true);
      case 'eth_getLogs':
        return this.#logs(first as Filter, view);
      case 'eth_getTransactionReceipt':
        return this.isNull() ? null : this.#receiptOf(String(first).toLowerCase(), view);
      case 'eth_getBlockReceipts': {
        const block = view.branch[this.#height(first, view)];
        return this.isNull() || !block || block.number > view.height ? null : render(block).receipts;
      }
      case 'eth_getTransactionByHash': {
        const txHash = String(first).toLowerCase();
        const block = this.#indexed(txHash, view);
        const transaction =
          block?.included.find((one) => one.transaction.txHash === txHash)?.transaction ?? chain.pool.get(txHash);
        return transaction ? { ...listed(transaction), blockHash: block?.hash ?? null } : null;
      }
      case 'eth_getBalance':
        return quantity(chain.valueAt(`native/${String(first).toLowerCase()}`, this.#viewAt(second, view)));
      case 'eth_getTransactionCount':
        return quantity(chain.valueAt(`nonce/${String(first).toLowerCase()}`, this.#viewAt(second, view)));
      case 'eth_getCode':
        return chain.contracts.has(String(first).toLowerCase()) ||
          chain.options.tokens.includes(String(first).toLowerCase())
          ? '0x60'
          : '0x';
      case 'eth_maxPriorityFeePerGas':
        return quantity(10n ** 9n);
      case 'eth_estimateGas':
        return this.#estimate(first as { from: string; to: string; data: string });
      case 'eth_call':
        return this.#call(first as { to?: string; data: string }, this.#viewAt(second, view));
      case 'eth_sendRawTransaction':
        return this.#take(String(first));
      default:
        throw new RpcFailure(`the method ${method} does not exist/is not available`, -32_601);
    }
  }

  /** The block of a transaction whose hash it knows. */
  #indexed(txHash: string, view: ChainView): EvmBlock | null {
    const block = this.chain.blockOf(txHash, view);
    return block && block.number > view.height - HASHES_KEPT ? block : null;
  }

  #receiptOf(txHash: string, view: ChainView): unknown {
    const block = this.#indexed(txHash, view);
    return (block && render(block).receipts.find(({ transactionHash }) => transactionHash === txHash)) ?? null;
  }

  #height(tag: unknown, view: ChainView): number {
    if (tag === 'latest') return view.height;
    return tag === 'finalized' ? this.chain.finalizedIn(view) : Number(tag);
  }

  #viewAt(tag: unknown, view: ChainView): ChainView {
    const height = this.#height(tag ?? 'latest', view);
    if (height > view.height) throw new RpcFailure('header not found');
    if (height < view.height - STATES_KEPT)
      throw new RpcFailure(`historical state ${view.branch[height]!.hash.slice(2)} is not available`);
    return { branch: view.branch, height };
  }

  #logs(filter: Filter, view: ChainView): readonly JsonLog[] {
    const blocks: EvmBlock[] = [];
    if (filter.blockHash !== undefined) {
      const block = view.branch.slice(0, view.height + 1).findLast(({ hash }) => hash === filter.blockHash);
      if (!block) throw new RpcFailure('unknown block');
      blocks.push(block);
    } else {
      const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)];
      if (from > to) throw new RpcFailure('invalid block range params', -32_602);
      if (to > view.height) throw new RpcFailure('block range extends beyond current head block', -32_602);
      for (let number = from; number <= to; number += 1)
        if (view.branch[number]!.included.length > 0) blocks.push(view.branch[number]!);
    }
    const addresses = [filter.address].flat().map((address) => String(address).toLowerCase());
    const isWanted = ({ address, topics }: JsonLog): boolean =>
      addresses.includes(address) && (filter.topics ?? []).every((topic, at) => topic === null || topic === topics[at]);
    const logs = blocks.flatMap((block) => render(block).receipts.flatMap((receipt) => receipt.logs)).filter(isWanted);
    return filter.blockHash === undefined && this.faults.omits > 0
      ? logs.filter(() => !this.prng.chance(this.faults.omits))
      : logs;
  }

  #estimate({ from, to, data }: { from: string; to: string; data: string }): string {
    const movement = transferIn(to.toLowerCase(), from.toLowerCase(), data);
    if (movement && !this.chain.wouldSucceed(movement)) throw new RpcFailure('execution reverted');
    return quantity(52_000);
  }

  #call({ to, data }: { to?: string; data: string }, view: ChainView): string {
    const { chain } = this;
    if (to === undefined && data.startsWith(MANY_BALANCES)) return manyBalances(chain, data, view);
    if (to === undefined && MANY_NATIVE.test(data)) return manyNative(chain, data, view);
    const token = String(to).toLowerCase();
    if (!chain.options.tokens.includes(token)) return '0x';
    if (data === DECIMALS) return word(6n);
    const account = `0x${data.slice(34, 74).toLowerCase()}`;
    if (data.startsWith(BALANCE)) return word(chain.valueAt(`${token}/${account}`, view));
    // `paused()` takes no argument, the two spellings of the blacklist take an account.
    return word((data.length === 10 ? chain.isPaused : chain.frozen.has(account)) ? 1n : 0n);
  }

  #take(signedBytes: string): string {
    const lie = this.broadcastLie();
    if (lie === 'hides') return `0x${'ab'.repeat(32)}`;
    const txHash = this.#submit(signedBytes);
    if (lie === 'denies') throw new RpcFailure('internal error');
    return txHash;
  }

  #submit(signedBytes: string): string {
    try {
      return this.chain.submit(signedBytes);
    } catch (error) {
      throw new RpcFailure((error as Error).message);
    }
  }
}

interface Filter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly address: string | readonly string[];
  readonly topics?: readonly (string | null)[];
}

function blockAt({ branch, height }: ChainView, at: number, isFull: boolean): unknown {
  const block = at <= height ? branch[at] : undefined;
  if (!block) return null;
  const { header } = render(block);
  return isFull ? { ...header, transactions: block.included.map(({ transaction }) => listed(transaction)) } : header;
}

/** Each transaction of the model moves one thing. */
function listed({ txHash, movements }: EvmBlock['included'][number]['transaction']): object {
  const [{ asset, from, to, units }] = movements as [Movement];
  const isNative = asset === 'native';
  return { hash: txHash, from, to: isNative ? to : asset, value: quantity(isNative ? units : 0n) };
}

/** What the code that asks a token for many accounts would return. */
function manyBalances(chain: EvmChain, data: string, view: ChainView): string {
  const answers = [...data.matchAll(/73([0-9a-f]{40})600452602062[0-9a-f]{6}6024600073([0-9a-f]{40})5afa/g)].map(
    ([, account, token]) => word(chain.valueAt(`0x${token}/0x${account}`, view)).slice(2) + '1'.padStart(64, '0'),
  );
  return `0x${answers.join('')}`;
}

function manyNative(chain: EvmChain, data: string, view: ChainView): string {
  const accounts = [...data.matchAll(/73([0-9a-f]{40})3162[0-9a-f]{6}52/g)].map(([, account]) => `0x${account}`);
  return `0x${accounts.map((account) => word(chain.valueAt(`native/${account}`, view)).slice(2)).join('')}`;
}
