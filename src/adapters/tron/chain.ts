import type { DepositFacts, FinalityRule } from '../../domain/events/session-events.ts';
import { isFinalEnough } from '../../domain/networks/finality.ts';
import { fromTokenUnits } from '../../domain/money/money.ts';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { AddressHistory } from '../../ports/chain/address-safety.ts';
import type { Block, Chain, Disproof, ScanOptions, ScanResult, Transfer } from '../../ports/chain/chain.ts';
import { agreedDisproof } from '../rpc/agreed-disproof.ts';
import { HeadComparison } from '../rpc/head-comparison.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { Voices } from '../rpc/voices.ts';
import { ProviderFault, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { usedTronAddresses } from './address-history.ts';
import { tronDisproofAt } from './disproof.ts';
import { LoggedBlocks } from './logged-blocks.ts';
import { readTransfers, tokenAccounts, type TokenAccounts } from './receipt.ts';
import { verifyTronProvider } from './provider-check.ts';
import { assertSameBlock, blockAt, mustHaveBlock, newestBlock, transactionInfo } from './rpc.ts';
import { movesMoney, scanBlocks, toTransfer } from './scan.ts';
import { must } from '../../domain/values/must.ts';

export interface TronChainOptions {
  readonly settings: NetworkSettings;
  /** Of the API's base URLs, without `/wallet`; TronGrid expects its key in the header `TRON-PRO-API-KEY`. */
  readonly pool: RpcPool;
  /**
   * True if a transfer of this many 10^-18 units counts only once a second provider reports the same; default never.
   */
  readonly confirmWithSecond?: (units: bigint) => boolean;
  /** Interval of comparing the heads of all providers to detect stalled ones; default 10,000. */
  readonly lagProbeMs?: number;
}

/** A main-network block has up to 2 MiB of receipts, so a scan stays within some tens of MiB even if all are kept. */
const MAX_BLOCKS_A_SCAN = 50;
/** Blocks read concurrently within one scan, below TronGrid's 15 requests a second. */
const BLOCKS_AT_A_TIME = 4;

/** TRON over the HTTP API of java-tron: receipts of whole blocks. What `/walletsolidity` serves is final. */
export function createTronChain(options: TronChainOptions): Chain & AddressHistory {
  return new TronChain(options);
}

class TronChain implements Chain, AddressHistory {
  readonly settings: NetworkSettings;
  readonly #pool: RpcPool;
  readonly #tokens: TokenAccounts;
  readonly #logged: LoggedBlocks;
  readonly #voices: Voices;
  readonly #providers: AdmittedProviders;
  readonly #heads: HeadComparison;
  #headSeen = 0;
  #solidSeen = -1;

  constructor(options: TronChainOptions) {
    this.settings = options.settings;
    this.#pool = options.pool;
    this.#providers = new AdmittedProviders(options.settings.network, options.pool, (provider) =>
      verifyTronProvider(provider, options.settings),
    );
    this.#tokens = tokenAccounts(options.settings.tokens);
    this.#logged = new LoggedBlocks(this.#tokens);
    this.#heads = new HeadComparison(options.pool, (provider) => this.#reportHead(provider), options.lagProbeMs);
    const unitsOf = ({ tokenAddress, tokenUnits }: Transfer): bigint =>
      fromTokenUnits(tokenUnits, must(this.#tokens.tokenOf(tokenAddress)).decimals);
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
    const { value, provider } = await this.#providers.run((one) => newestBlock(one, 'wallet'));
    this.#heads.nowAndThen(provider);
    this.#headSeen = Math.max(this.#headSeen, value.number);
    return value;
  }

  async finalized(): Promise<Block> {
    const value = await this.#providers.on((provider) => newestBlock(provider, 'walletsolidity'));
    this.#solidSeen = Math.max(this.#solidSeen, value.number);
    return value;
  }

  async blockAt(number: number): Promise<Block | null> {
    const task = async (provider: RpcProvider): Promise<Block | null> => {
      const block = await blockAt(provider, number);
      if (block === null && number <= this.#headSeen)
        throw new ProviderFault('behind', `does not have block ${number} yet`);
      return block;
    };
    return this.#providers.on(task);
  }

  async scan(
    fromBlock: number,
    toBlock: number,
    isOurs: (address: string) => boolean,
    options: ScanOptions = {},
  ): Promise<ScanResult> {
    const range = {
      fromBlock,
      toBlock: Math.min(toBlock, fromBlock + MAX_BLOCKS_A_SCAN - 1),
      isOurs,
      concurrency: BLOCKS_AT_A_TIME,
    };
    const { readBefore = [], isIdle = false, head } = options;
    const task = async (source: RpcProvider) => {
      const found = await scanBlocks(source, this.#tokens, {
        ...range,
        ...{ compareWithBlocks: readBefore.includes(source.name), head },
        ...(isIdle && readBefore.length === 0 && { logged: this.#logged }),
      });
      source.report('read', found.lastBlock.number);
      return found;
    };
    const { value, provider } = await this.#providers.run(task, readBefore);
    return { ...value, providers: [provider] };
  }

  async transferAt(txHash: string, logIndex: number): Promise<Transfer | null> {
    return this.#voices.transfer((provider) => this.#readTransfer(provider, txHash, logIndex), `${txHash}:${logIndex}`);
  }

  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean> {
    return this.#voices.agreeOnFinality(transfer, (provider) => this.#callsItFinal(provider, transfer.block, rule));
  }

  async usedAmong(addresses: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#providers.on((provider) => usedTronAddresses(provider, this.settings, addresses));
  }

  disprove(deposit: DepositFacts): Promise<Disproof | null> {
    return agreedDisproof(this.#pool, async (provider) => {
      await this.#providers.admit(provider);
      await this.#assertKeepsUp(provider);
      return tronDisproofAt(provider, this.#tokens, deposit);
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #reportHead(provider: RpcProvider): Promise<void> {
    await this.#providers.admit(provider);
    await newestBlock(provider, 'wallet');
  }

  /** Below the solidified height only the solidified answer counts. */
  async #readTransfer(provider: RpcProvider, txHash: string, logIndex: number): Promise<Transfer | null> {
    await this.#providers.admit(provider);
    let info = await transactionInfo(provider, 'wallet', txHash);
    if (info === null) {
      await this.#assertKeepsUp(provider);
      return null;
    }
    if (info.blockNumber <= this.#solidSeen) {
      info = await transactionInfo(provider, 'walletsolidity', txHash);
      if (info === null) throw new ProviderFault('behind', `does not serve ${txHash} as solidified yet`);
    }
    const log = readTransfers(info, this.#tokens, () => true).find((transfer) => transfer.logIndex === logIndex);
    if (log === undefined || !movesMoney(log)) return null;
    const block = await mustHaveBlock(provider, info.blockNumber);
    assertSameBlock(block, info);
    return toTransfer(info, log, block);
  }

  async #callsItFinal(provider: RpcProvider, { number, hash }: Block, rule: FinalityRule): Promise<boolean> {
    await this.#providers.admit(provider);
    const reached = await newestBlock(provider, rule.kind === 'finalized' ? 'walletsolidity' : 'wallet');
    if (!isFinalEnough(rule, number, { headNumber: reached.number, finalizedNumber: reached.number })) return false;
    return (await mustHaveBlock(provider, number)).hash === hash;
  }

  /** "No such transaction" counts only from a provider that has come as far as any other. */
  async #assertKeepsUp(provider: RpcProvider): Promise<void> {
    const head = await newestBlock(provider, 'wallet');
    if (head.number < this.#headSeen)
      throw new ProviderFault('behind', `is ${this.#headSeen - head.number} blocks behind`);
  }
}
