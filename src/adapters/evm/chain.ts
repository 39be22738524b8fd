import type { DepositFacts, FinalityRule } from '../../domain/events/session-events.ts';
import { isFinalEnough } from '../../domain/networks/finality.ts';
import { fromTokenUnits } from '../../domain/money/money.ts';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { AddressHistory } from '../../ports/chain/address-safety.ts';
import type {
  Block,
  BlockLook,
  Chain,
  Disproof,
  IsOurs,
  ScanOptions,
  ScanResult,
  Transfer,
} from '../../ports/chain/chain.ts';
import { agreedDisproof } from '../rpc/agreed-disproof.ts';
import { HeadComparison } from '../rpc/head-comparison.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { Voices } from '../rpc/voices.ts';
import { ProviderFault, RpcError, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { usedEvmAddresses } from './address-history.ts';
import { disproofAt } from './disproof.ts';
import {
  finalBlock,
  findReceipt,
  fromQuantity,
  mustReadHeader,
  readBlockReceipts,
  readHeader,
  readReceipt,
} from './rpc.ts';
import type { RawLog, RawReceipt } from './rpc.ts';
import { LogScanner } from './log-scanner.ts';
import { verifyProvider } from './provider-check.ts';
import { isOurTransfer, tokensByAddress, toTransfer, type TokensByAddress } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

export interface EvmChainOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /**
   * True if a transfer of this many 10^-18 units counts only once a second provider reports the same; default never.
   * With a single provider such a transfer stays unconfirmed and `transferAt` throws `ChainUnavailable`.
   */
  readonly confirmWithSecond?: (units: bigint) => boolean;
  /** Interval of comparing the heads of all providers to detect lag; default 10,000. */
  readonly lagProbeMs?: number;
  /** Number of blocks in the first log range; default 128. */
  readonly initialBlocks?: number;
  /** Maximum number of blocks per log range, which bounds the memory of a scan; default 4,096. */
  readonly maxBlocks?: number;
}

/** One provider's block with its receipts by transaction. */
interface BlockWithReceipts {
  readonly block: Block;
  readonly receipts: ReadonlyMap<string, RawReceipt>;
}

/** EVM chains over JSON-RPC: Ethereum and BSC. */
export function createEvmChain(options: EvmChainOptions): Chain & AddressHistory {
  return new EvmChain(options);
}

class EvmChain implements Chain, AddressHistory {
  readonly settings: NetworkSettings;
  readonly #pool: RpcPool;
  readonly #tokens: TokensByAddress;
  readonly #scanner: LogScanner;
  readonly #voices: Voices;
  readonly #heads: HeadComparison;
  readonly #providers: AdmittedProviders;
  /** What each provider returned for a block, for the lifetime of the look. */
  readonly #looks = new WeakMap<BlockLook, Map<string, Promise<BlockWithReceipts | null>>>();
  #highestSeen = 0;

  constructor(options: EvmChainOptions) {
    this.settings = options.settings;
    this.#pool = options.pool;
    this.#providers = new AdmittedProviders(options.settings.network, options.pool, (provider) =>
      verifyProvider(provider, options.settings),
    );
    this.#tokens = tokensByAddress(options.settings.tokens);
    this.#scanner = new LogScanner({
      tokens: this.#tokens,
      initialBlocks: options.initialBlocks ?? 128,
      maxBlocks: options.maxBlocks ?? 4_096,
    });
    this.#heads = new HeadComparison(options.pool, (provider) => this.#reportHead(provider), options.lagProbeMs);
    const unitsOf = ({ tokenAddress, tokenUnits }: Transfer): bigint =>
      fromTokenUnits(tokenUnits, must(this.#tokens.get(tokenAddress.toLowerCase())).decimals);
    this.#voices = new Voices(options.settings.network, options.pool, unitsOf, options.confirmWithSecond);
  }

  get network(): Chain['network'] {
    return this.settings.network;
  }

  get mode(): Chain['mode'] {
    return this.settings.mode;
  }

  async verify(): Promise<void> {
    await this.#voices.verify((provider) => this.#providers.admit(provider));
  }

  async head(): Promise<Block> {
    const { value: head, provider } = await this.#providers.run((one) => readHead(one));
    this.#heads.nowAndThen(provider);
    const isBack = head.number < this.#highestSeen;
    this.#highestSeen = head.number;
    if (!isBack || this.#pool.size < 2) return head;
    // A head that moves back is more often one provider's problem than the network's.
    await this.#heads.now();
    return this.#providers.on((provider) => readHead(provider));
  }

  async finalized(): Promise<Block | null> {
    const { value, provider } = await this.#providers.run(readFinalized);
    if (value !== null || this.#pool.size < 2) return value;
    return this.#providers.on(readFinalized, [provider]);
  }

  async blockAt(number: number): Promise<Block | null> {
    return (await this.#providers.on((provider) => readHeader(provider, number)))?.block ?? null;
  }

  async scan(fromBlock: number, toBlock: number, isOurs: IsOurs, options: ScanOptions = {}): Promise<ScanResult> {
    const { readBefore = [], isIdle = false } = options;
    const task = async (provider: RpcProvider) => {
      const found = readBefore.includes(provider.name)
        ? await this.#scanner.scanBlocks(provider, fromBlock, toBlock, isOurs)
        : await this.#scanner.scan(provider, fromBlock, toBlock, isOurs, isIdle);
      provider.report('read', found.lastBlock.number);
      return found;
    };
    const { value, provider } = await this.#providers.run(task, readBefore);
    return { ...value, providers: [provider] };
  }

  async transferAt(txHash: string, logIndex: number, look?: BlockLook): Promise<Transfer | null> {
    return this.#voices.transfer(
      (provider) => this.#readTransfer(provider, txHash, logIndex, look),
      `${txHash}:${logIndex}`,
    );
  }

  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean> {
    return this.#voices.agreeOnFinality(transfer, (provider) => this.#callsItFinal(provider, transfer.block, rule));
  }

  async usedAmong(addresses: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#providers.on((provider) => usedEvmAddresses(provider, this.settings, addresses));
  }

  disprove(deposit: DepositFacts): Promise<Disproof | null> {
    return agreedDisproof(this.#pool, async (provider) => {
      await this.#providers.admit(provider);
      await this.#assertKeepsUp(provider);
      return disproofAt(provider, this.#tokens, deposit);
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #reportHead(provider: RpcProvider): Promise<void> {
    await this.#providers.admit(provider);
    await readHead(provider);
  }

  /** Null: the transaction is not in this provider's chain, failed, or has no such transfer. */
  async #readTransfer(
    provider: RpcProvider,
    txHash: string,
    logIndex: number,
    look?: BlockLook,
  ): Promise<Transfer | null> {
    await this.#providers.admit(provider);
    const whole = look === undefined ? null : await this.#readWhole(provider, look);
    const shown = whole?.receipts.get(txHash.toLowerCase());
    const transfer = shown ? this.#transferShown(shown, must(whole).block, logIndex) : null;
    if (transfer) return transfer;
    const receipt = await (look ? findReceipt(provider, txHash, look.blockNumber) : readReceipt(provider, txHash));
    if (receipt === null) {
      await this.#assertKeepsUp(provider);
      return null;
    }
    const log = this.#logIn(receipt, logIndex);
    return (
      log &&
      this.#transferIn(
        receipt,
        log,
        (await mustReadHeader(provider, fromQuantity(receipt.blockNumber, 'block number'))).block,
      )
    );
  }

  /** Also null if a block's contents contradict each other: the single receipt is read before anything is disputed. */
  #transferShown(receipt: RawReceipt, block: Block, logIndex: number): Transfer | null {
    try {
      const log = this.#logIn(receipt, logIndex);
      return log && this.#transferIn(receipt, log, block);
    } catch (error) {
      if (error instanceof ProviderFault) return null;
      throw error;
    }
  }

  /** Null: the transaction failed, or has no money transfer at that index. */
  #logIn(receipt: RawReceipt, logIndex: number): RawLog | null {
    if (receipt.status !== '0x1') return null;
    const log = receipt.logs.find((candidate) => fromQuantity(candidate.logIndex, 'log index') === logIndex);
    return log && isOurTransfer(log, this.#tokens, () => true) ? log : null;
  }

  #transferIn(receipt: RawReceipt, log: RawLog, block: Block): Transfer {
    if (
      block.hash !== receipt.blockHash ||
      log.blockHash !== receipt.blockHash ||
      log.transactionHash !== receipt.transactionHash
    ) {
      throw new ProviderFault('inconsistent', 'the receipt is of a block that left the chain');
    }
    return toTransfer(log, this.#tokens, block);
  }

  /** Null if the provider does not serve whole blocks; each transfer is then read by itself. */
  #readWhole(provider: RpcProvider, look: BlockLook): Promise<BlockWithReceipts | null> {
    const ofLook = this.#looks.get(look) ?? new Map<string, Promise<BlockWithReceipts | null>>();
    this.#looks.set(look, ofLook);
    let whole = ofLook.get(provider.name);
    if (!whole) {
      whole = readWithReceipts(provider, look.blockNumber).catch((error: unknown) => {
        if (error instanceof RpcError || error instanceof ProviderFault) return null;
        throw error;
      });
      ofLook.set(provider.name, whole);
    }
    return whole;
  }

  async #callsItFinal(provider: RpcProvider, { number, hash }: Block, rule: FinalityRule): Promise<boolean> {
    await this.#providers.admit(provider);
    const reached =
      rule.kind === 'finalized' ? (await mustReadHeader(provider, 'finalized')).block : await readHead(provider);
    if (!isFinalEnough(rule, number, { headNumber: reached.number, finalizedNumber: reached.number })) return false;
    return (await mustReadHeader(provider, number)).block.hash === hash;
  }

  /** "No such transaction" counts only from a provider that has reached the latest head. */
  async #assertKeepsUp(provider: RpcProvider): Promise<void> {
    const seen = this.#highestSeen;
    const head = await readHead(provider);
    if (head.number < seen) throw new ProviderFault('behind', `is ${seen - head.number} blocks behind`);
  }
}

async function readWithReceipts(provider: RpcProvider, number: number): Promise<BlockWithReceipts> {
  const [receipts, { block }] = await Promise.all([
    readBlockReceipts(provider, number),
    mustReadHeader(provider, number),
  ]);
  return { block, receipts: new Map(receipts.map((receipt) => [receipt.transactionHash, receipt])) };
}

/** Null while the provider knows none: what is not known to be final is not. */
async function readFinalized(provider: RpcProvider): Promise<Block | null> {
  const block = await finalBlock(provider);
  if (block !== null) provider.report('final', block.number);
  return block;
}

async function readHead(provider: RpcProvider): Promise<Block> {
  const { block } = await mustReadHeader(provider, 'latest');
  provider.report('head', block.number);
  return block;
}
