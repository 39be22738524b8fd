import { TRANSFER_TOPIC } from '../../src/adapters/evm/transfer-log.ts';
import { toBase58Address } from '../../src/adapters/tron/address.ts';
import type { TronTransactionInfo } from '../../src/adapters/tron/receipt.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import { computed } from './tron-node.ts';
import { HONEST, ModelChain, PAYER, START_SEC, type Lies, type ModelBlock } from './lying-evm.ts';

/** Names of TRON have no `0x`. */
export const bare = (hex: string): string => hex.slice(2);
export const tronAddress = (account: string): string => toBase58Address(bare(account));

const word = (account: string): string => bare(account).toLowerCase().padStart(64, '0');

/** The first block is the same for everybody, and names the chain. */
export function tronSettings(token: string): NetworkSettings {
  return {
    network: 'tron',
    mode: 'test',
    chainId: BigInt(`0x${new ModelChain(token).at(0)!.hash.slice(-8)}`).toString(),
    tokens: [{ coin: 'USDT', address: tronAddress(token), decimals: 6 }],
    ...{ simulated: false, mainNetwork: false, explorerTransactionUrl: null },
  };
}

/** A node of TRON's HTTP API that leaves things out. What it makes up is in a chain of its own. */
export class TronModelProvider implements RpcProvider {
  readonly name: string;
  lies: Lies = HONEST;
  readonly #chain: ModelChain;
  readonly #ours: string;

  constructor(name: string, chain: ModelChain, ours: string) {
    this.name = name;
    this.#chain = chain;
    this.#ours = ours;
  }

  report(): void {}

  call(): Promise<unknown> {
    return Promise.reject(new ProviderFault('incapable', 'no such call'));
  }

  get(): Promise<unknown> {
    return this.call();
  }

  async post(
    path: string,
    body: { readonly id_or_num?: string; readonly num?: number; readonly value?: string },
  ): Promise<unknown> {
    const [, view, call] = path.split('/');
    const { head } = this.#chain;
    const limit = view === 'wallet' || this.lies.finalIsHead ? head : this.#chain.finalized;
    const shown = (number: number): ModelBlock | undefined => (number <= limit ? this.#chain.at(number) : undefined);
    switch (call) {
      case 'getblock':
        return blockOf(shown(body.id_or_num === undefined ? limit : Number(body.id_or_num)), false);
      case 'getnowblock':
        return blockOf(shown(limit), true);
      case 'getblockbynum':
        return blockOf(shown(body.num!), true);
      case 'gettransactioninfobyblocknum':
        return this.#receiptsOf(shown(body.num!));
      case 'gettransactioninfobyid': {
        const block = this.lies.nullReceipts ? undefined : this.#chain.blockOf(`0x${body.value}`);
        return this.#receiptsOf(block && shown(block.number)).find(({ id }) => id === body.value) ?? {};
      }
      case 'triggerconstantcontract':
        return computed(6);
      default:
        return { Error: `no such call: ${path}` };
    }
  }

  /** One that leaves our transfers out keeps their receipts, without what they moved. */
  #receiptsOf(block: ModelBlock | undefined): TronTransactionInfo[] {
    return (block?.transfers ?? []).map(({ txHash, to, units }) => ({
      id: bare(txHash),
      blockNumber: block!.number,
      blockTimeStamp: timeMsOf(block!),
      receipt: { result: 'SUCCESS' },
      log:
        this.lies.withoutOurs && to === this.#ours
          ? []
          : [
              {
                address: bare(this.#chain.token),
                topics: [bare(TRANSFER_TOPIC), word(PAYER), word(to)],
                data: units.toString(16).padStart(64, '0'),
              },
            ],
    }));
  }
}

const timeMsOf = ({ number }: ModelBlock): number => (START_SEC + number * 3) * 1000;

function blockOf(block: ModelBlock | undefined, whole: boolean): object {
  if (!block) return {};
  const { number, hash, parentHash, transfers } = block;
  const raw = { ...(number > 0 && { number, parentHash: bare(parentHash) }), timestamp: timeMsOf(block) };
  return {
    blockID: bare(hash),
    block_header: { raw_data: raw },
    ...(whole && transfers.length > 0 && { transactions: transfers.map(({ txHash }) => ({ txID: bare(txHash) })) }),
  };
}
