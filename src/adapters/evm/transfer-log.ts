import { getAddress, id } from 'ethers';
import { memoized } from '../../domain/values/memoized.ts';
import type { Token } from '../../domain/networks/networks.ts';
import type { Block, Transfer } from '../../ports/chain/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { fromQuantity, readLogs, type RawLog, type RawReceipt } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

/** ERC-20: `Transfer(address indexed from, address indexed to, uint256 value)`. */
export const TRANSFER_TOPIC = id('Transfer(address,address,uint256)');

/** An address as the topic of a log. */
export const topicOf = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** `parties`: sender and receiver as topics; null for any. Throws `ProviderFault` for one that cannot be read. */
export async function readTransferLogs(
  provider: RpcProvider,
  filter: { readonly address: string | readonly string[] } & Readonly<Record<string, unknown>>,
  parties: readonly (string | null)[] = [],
): Promise<RawLog[]> {
  const logs = await readLogs(provider, { ...filter, topics: [TRANSFER_TOPIC, ...parties] });
  const addresses = new Set([filter.address].flat().map((address) => address.toLowerCase()));
  refuseUnreadable(logs, (address) => addresses.has(address));
  return logs;
}

/** Transfers of allow-listed tokens in receipts. Throws `ProviderFault` for one that cannot be read. */
export function transferLogsIn(receipts: readonly RawReceipt[], tokens: TokensByAddress): RawLog[] {
  const logs = receipts
    .filter(({ status }) => status === '0x1')
    .flatMap((receipt) =>
      receipt.logs.filter(({ topics, address }) => topics[0] === TRANSFER_TOPIC && tokens.has(address)),
    );
  refuseUnreadable(logs, () => true);
  return logs;
}

/**
 * Real tokens emit three topics and one word of data. A transfer of theirs in another form would be dropped as another
 * event, and the payment with it.
 */
function refuseUnreadable(logs: readonly RawLog[], isToken: (address: string) => boolean): void {
  const broken = logs.find((log) => log.topics[0] === TRANSFER_TOPIC && isToken(log.address) && !isReadable(log));
  if (broken) throw new ProviderFault('inconsistent', `answered an unreadable transfer in ${broken.transactionHash}`);
}

const isReadable = ({ topics, data }: RawLog): boolean =>
  topics.length === 3 && ADDRESS_TOPIC.test(must(topics[1])) && ADDRESS_TOPIC.test(must(topics[2])) && WORD.test(data);

/** Allow-listed contracts by lower-case address. */
export type TokensByAddress = ReadonlyMap<string, Token>;

export function tokensByAddress(tokens: readonly Token[]): TokensByAddress {
  return new Map(tokens.map((token) => [token.address.toLowerCase(), token]));
}

const ADDRESS_TOPIC = /^0x0{24}[0-9a-f]{40}$/;
const WORD = /^0x[0-9a-f]{64}$/;

/**
 * Whether the log is a money transfer to us. Real tokens emit three topics and one word of data; anything else with the
 * same topic is another event. A zero value moves nothing ("address poisoning").
 */
export function isOurTransfer(log: RawLog, tokens: TokensByAddress, isOurs: (address: string) => boolean): boolean {
  const { topics } = log;
  return (
    topics.length === 3 &&
    topics[0] === TRANSFER_TOPIC &&
    isOurs(`0x${must(topics[2]).slice(26)}`) &&
    isReadable(log) &&
    tokens.has(log.address) &&
    log.removed !== true &&
    BigInt(log.data) > 0n
  );
}

/** A transfer is read four times between detection and finality, and checksumming an address costs a hash. */
const addressIn = memoized(20_000, (topic: string): string => getAddress(`0x${topic.slice(26)}`));

/** Reads a log that `isOurTransfer` accepted. `block` must be the log's block. */
export function toTransfer(log: RawLog, tokens: TokensByAddress, block: Block): Transfer {
  return {
    tokenAddress: must(tokens.get(log.address)).address,
    tokenUnits: BigInt(log.data),
    // Freshly minted money, as from bridges, has no payer to return it to.
    fromAddress: /^0x0+$/.test(must(log.topics[1])) ? null : addressIn(must(log.topics[1])),
    toAddress: addressIn(must(log.topics[2])),
    txHash: log.transactionHash,
    logIndex: fromQuantity(log.logIndex, 'log index'),
    block,
  };
}
