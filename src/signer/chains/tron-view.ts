import { z } from 'zod';
import { fromTokenUnits, least, most } from '../../domain/money/money.ts';
import { NATIVE_COIN, NATIVE_DECIMALS } from '../../domain/networks/networks.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { PayoutNetwork } from '../../ports/signer/protocol.ts';
import type { DepositProof, NativeTransfer } from '../../domain/networks/deposit-proof.ts';
import { tronAddressOf } from './account-address.ts';
import {
  agreed,
  cautiousGas,
  isExactly,
  opinions,
  postJson,
  unanimous,
  ViewUnavailable,
  type ChainView,
  type FoundDeposit,
  type FoundNativeTransfer,
  type JournaledBytes,
  type SweepGas,
} from './chain-view.ts';
import { isListedFrom } from '../../chain-formats/tron-lifetime.ts';
import { accountOf, signedExpirationMs } from './tron-bytes.ts';

/**
 * Nodes answer `{}` for what they do not have. Anything else without the fields of an answer, such as `Error` or
 * OTHER_ERROR with status 200, says nothing.
 */
const orNothing = <Value>(form: z.ZodType<Value>) => z.union([z.strictObject({}).transform(() => null), form]);
const foundInfo = z.object({
  id: z.string(),
  blockNumber: z.number(),
  result: z.string().optional(),
  receipt: z.object({ result: z.string().optional() }),
  log: z
    .array(z.object({ address: z.string(), topics: z.array(z.string()).default([]), data: z.string().default('') }))
    .default([]),
});
type Info = z.infer<typeof foundInfo>;
const info = orNothing(foundInfo);
/** A transfer of TRX has all three; other contracts have fields of their own. */
const value = z.object({
  owner_address: z.string().default(''),
  to_address: z.string().default(''),
  amount: z.unknown().optional(),
});
const transaction = orNothing(
  z.object({
    txID: z.string(),
    ret: z.tuple([z.object({ contractRet: z.string() })], z.unknown()),
    raw_data: z.object({
      contract: z.tuple([z.object({ type: z.string(), parameter: z.object({ value }) })], z.unknown()),
    }),
  }),
);
const energyPrice = z
  .object({ chainParameter: z.array(z.object({ key: z.string(), value: z.number().optional() })) })
  .transform(({ chainParameter }) => chainParameter.find(({ key }) => key === 'getEnergyFee')?.value ?? 0)
  .pipe(z.int().positive());
const account = orNothing(z.object({ address: z.string(), balance: z.int().min(0).default(0) }));
/** A call that ran to its end; a contract that refuses adds a message and a mark. */
const constantAnswer = z.object({
  result: z.object({ result: z.literal(true), message: z.undefined().optional() }),
  constant_result: z.tuple([z.string()], z.string()),
  energy_used: z.number(),
  transaction: z.object({ ret: z.array(z.object({ ret: z.undefined().optional() })) }).optional(),
});
/** Absent fields have protocol buffer defaults. */
const block = z.object({
  blockID: z.string(),
  block_header: z.object({
    raw_data: z.object({
      number: z.int().min(0).default(0),
      timestamp: z.int().min(0).default(0),
      /** Zeros only where there are no transactions. */
      txTrieRoot: z.string().default(''),
    }),
  }),
  transactions: z.array(z.object({ txID: z.string() })).default([]),
});
type View = 'wallet' | 'walletsolidity';
type Referring = Extract<TransactionDraft, { refBlockBytes: string }>;

/** Keccak-256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** An amount in a log. */
const WORD = /^[0-9a-f]{64}$/i;
/** Sun; four times the most expensive transfer so far. */
const MAX_FEE_LIMIT = 150_000_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** A transaction names its reference block by two bytes of its number. */
const REFERENCES = 65_536;
/** Twice the current energy cost, which varies between calls, plus the bandwidth of one transfer. */
const SWEEP_ENERGY_FACTOR = 2n;
const SWEEP_BANDWIDTH_SUN = 500_000n;
const SUN = 10n ** 12n;
const NOTHING = { owner_address: '', to_address: '', amount: 0 };
/** Receipt and block may come from different machines of a provider, which are assumed to lag less than this. */
const BALANCER_LAG_MS = 60_000;

/** The signer's view of TRON; only what is solidified counts. */
export class TronView implements ChainView {
  readonly #network: PayoutNetwork;

  constructor(network: PayoutNetwork) {
    this.#network = network;
  }

  async findDeposit(proof: DepositProof): Promise<FoundDeposit | null> {
    return agreed(this.#network, async (url) => {
      const [solid, newest] = [
        await this.#info(url, 'walletsolidity', proof.txHash),
        await this.#info(url, 'wallet', proof.txHash),
      ];
      const found = solid ?? newest;
      const log = found && OUTCOMES.tron(found) === 'moved' ? found.log[proof.logIndex] : undefined;
      const token = this.#network.tokens.find(({ address }) => address === addressOf(log?.address ?? ''));
      if (!log || !token || !WORD.test(log.data)) return null;
      const [topic, from, to, ...others] = log.topics;
      if (topic !== TRANSFER_TOPIC || from === undefined || to === undefined || others.length > 0) return null;
      if (addressOf(to) !== proof.toAddress) return null;
      const depositKey = `tron:${proof.txHash.toLowerCase()}:${proof.logIndex}`;
      return {
        depositKey,
        place: depositKey,
        txHash: proof.txHash.toLowerCase(),
        coin: token.coin,
        units: fromTokenUnits(BigInt(`0x${log.data}`), token.decimals),
        // Minted money has no payer.
        payer: /^0+$/.test(from) ? null : addressOf(from),
        final: solid !== null,
      };
    });
  }

  /** A plain transfer of TRX, of which a transaction contains at most one. Transfers made by contracts are ignored. */
  findNativeTransfer({
    txHash,
    toAddress,
  }: Pick<NativeTransfer, 'txHash' | 'toAddress'>): Promise<FoundNativeTransfer | null> {
    return agreed(this.#network, async (url) => {
      const [solid, newest] = [
        await this.#transfer(url, 'walletsolidity', txHash),
        await this.#transfer(url, 'wallet', txHash),
      ];
      const { owner_address: from, to_address: to, amount } = solid ?? newest ?? NOTHING;
      if (addressOf(to) !== toAddress || typeof amount !== 'number' || !Number.isSafeInteger(amount) || amount <= 0)
        return null;
      return { fromAddress: addressOf(from), units: BigInt(amount) * SUN, final: solid !== null };
    });
  }

  async #transfer(url: string, view: View, txHash: string): Promise<z.infer<typeof value> | null> {
    const found = await this.#ask(url, `${view}/gettransactionbyid`, { value: txHash }, transaction);
    if (found?.txID !== txHash || found.ret[0].contractRet !== 'SUCCESS') return null;
    const [{ type, parameter }] = found.raw_data.contract;
    return type === 'TransferContract' ? parameter.value : null;
  }

  faultOf(draft: TransactionDraft, order: Pick<OutgoingTransaction, 'kind' | 'coin' | 'amount'>): string | null {
    if (draft.kind !== 'tron' && draft.kind !== 'tron-native') return 'the draft is for another chain';
    if (draft.kind === 'tron-native') {
      if (order.coin !== NATIVE_COIN.tron) return 'the draft moves a different coin';
      if (!isExactly(draft.sun, order.amount, NATIVE_DECIMALS.tron)) return 'the draft moves a different amount';
    } else {
      const token = this.#network.tokens.find(({ coin }) => coin === order.coin);
      if (!token || draft.tokenAddress !== token.address) return 'the draft moves a different token';
      if (!isExactly(draft.tokenUnits, order.amount, token.decimals)) return 'the draft moves a different amount';
      if (draft.feeLimit > MAX_FEE_LIMIT) return 'the draft could burn too much TRX';
    }
    return draft.expirationMs - draft.timestampMs > MAX_LIFETIME_MS ? 'the draft lives too long' : null;
  }

  hasLanded({ txHash }: Pick<JournaledBytes, 'txHash'>): Promise<boolean> {
    return agreed(this.#network, async (url) => (await this.#info(url, 'wallet', txHash)) !== null);
  }

  async sweepGas(address: string, treasury: string): Promise<SweepGas> {
    return cautiousGas(
      await opinions(this.#network, async (url) => {
        const energySun = await this.#dearestSweep(url, address, treasury);
        const balance = (await this.#ask(url, 'wallet/getaccount', { address: hexOf(address) }, account))?.balance ?? 0;
        const needed =
          energySun === null ? 0n : least(energySun * SWEEP_ENERGY_FACTOR, BigInt(MAX_FEE_LIMIT)) + SWEEP_BANDWIDTH_SUN;
        return { needed: needed * SUN, held: BigInt(balance) * SUN };
      }),
    );
  }

  /** Sun for the energy of the address's token that needs the most; null if it holds none. */
  async #dearestSweep(url: string, address: string, treasury: string): Promise<bigint | null> {
    let dearest: bigint | null = null;
    const price = await this.#ask(url, 'wallet/getchainparameters', {}, energyPrice);
    for (const token of this.#network.tokens) {
      const held = await this.#constant(url, address, token.address, 'balanceOf(address)', wordOf(address));
      const [word] = held.constant_result;
      if (!WORD.test(word)) throw new ViewUnavailable('a provider answered no balance');
      const units = BigInt(`0x${word}`);
      if (units === 0n) continue;
      const parameter = wordOf(treasury) + units.toString(16).padStart(64, '0');
      const sent = await this.#constant(url, address, token.address, 'transfer(address,uint256)', parameter);
      dearest = most(dearest ?? 0n, BigInt(sent.energy_used) * BigInt(price));
    }
    return dearest;
  }

  #constant(url: string, owner: string, contract: string, selector: string, parameter: string) {
    const call = {
      owner_address: hexOf(owner),
      contract_address: hexOf(contract),
      function_selector: selector,
      parameter,
    };
    return this.#ask(url, 'wallet/triggerconstantcontract', call, constantAnswer);
  }

  /** The bytes themselves make two transactions unique. */
  /** Its drafts pay addresses. */
  payeeFault(): Promise<null> {
    return Promise.resolve(null);
  }

  sequenceFault(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Each must have expired, as every provider sees it. */
  async mayFollow(earlier: readonly JournaledBytes[], next: TransactionDraft): Promise<boolean> {
    return 'expirationMs' in next && this.#areDead(earlier, false);
  }

  hadNoEffect(entries: readonly JournaledBytes[]): Promise<boolean> {
    return this.#areDead(entries, true);
  }

  async #areDead(entries: readonly JournaledBytes[], failedCounts: boolean): Promise<boolean> {
    for (const entry of entries)
      if (!(await unanimous(this.#network, (url) => this.#isDead(url, entry, failedCounts)))) return false;
    return true;
  }

  /**
   * Expired, by the expiration in the signed bytes and the time of this provider's solidified head, and listed in no
   * solidified block of its lifetime; or, with `failedCounts`, in one without effect.
   */
  async #isDead(url: string, { draft, txHash, signedBytes }: JournaledBytes, failedCounts: boolean): Promise<boolean> {
    if (!('expirationMs' in draft)) return false;
    const newest = blockOf(await this.#ask(url, 'walletsolidity/getnowblock', {}, block));
    const found = await this.#info(url, 'walletsolidity', txHash);
    if (found !== null) return failedCounts && OUTCOMES[draft.kind](found) === 'nothing';
    const toMs = signedExpirationMs(signedBytes, txHash) + BALANCER_LAG_MS;
    if (newest.timeSec * 1000 < toMs) return false;
    const fromBlock = await this.#referenceOf(url, draft, newest.number);
    const listed = (number: number) => this.#block(url, number);
    return fromBlock !== null && !(await isListedFrom({ newest, listed }, txHash, { fromBlock, toMs }));
  }

  /** The block to which the draft refers, by the end of its number and a part of its id: it can only land after it. */
  async #referenceOf(url: string, { refBlockBytes, refBlockHash }: Referring, newest: number): Promise<number | null> {
    const behind = (newest - Number.parseInt(refBlockBytes, 16)) % REFERENCES;
    for (let number = newest - (behind < 0 ? behind + REFERENCES : behind); number >= 0; number -= REFERENCES)
      if ((await this.#block(url, number)).id.slice(16, 32) === refBlockHash) return number;
    return null;
  }

  async #block(url: string, number: number) {
    const found = blockOf(await this.#ask(url, 'wallet/getblockbynum', { num: number }, block));
    if (found.number !== number) throw new ViewUnavailable('a provider answered another block');
    if (found.txHashes.length === 0 && found.number > 0 && /[^0]/.test(found.txTrieRoot))
      throw new ViewUnavailable('a provider answered a block without its transactions');
    return found;
  }

  async #info(url: string, view: View, txHash: string): Promise<Info | null> {
    const found = await this.#ask(url, `${view}/gettransactioninfobyid`, { value: txHash }, info);
    if (found !== null && found.id !== txHash) throw new ViewUnavailable('a provider answered another transaction');
    return found;
  }

  #ask<Value>(url: string, path: `${View}/${string}`, body: object, form: z.ZodType<Value>): Promise<Value> {
    return postJson(this.#network, `${url.replace(/\/$/, '')}/${path}`, body, form);
  }
}

const blockOf = ({ blockID, block_header, transactions }: z.infer<typeof block>) => ({
  id: blockID.toLowerCase(),
  number: block_header.raw_data.number,
  timeSec: Math.floor(block_header.raw_data.timestamp / 1000),
  txTrieRoot: block_header.raw_data.txTrieRoot,
  txHashes: transactions.map(({ txID }) => txID),
});

/** 21 bytes: `41` and the account. */
const hexOf = (address: string): string => accountOf(address).toString('hex');
const wordOf = (address: string): string => accountOf(address).subarray(1).toString('hex').padStart(64, '0');

/** From the hex notations of nodes: 20 bytes, 21 bytes with `41`, or a 32-byte log word. */
function addressOf(hex: string): string | null {
  return /^(0x)?([0-9a-f]{2})*[0-9a-f]{40}$/i.test(hex) ? tronAddressOf(Buffer.from(hex.slice(-40), 'hex')) : null;
}
