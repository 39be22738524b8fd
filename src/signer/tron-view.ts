import { amountOf, fromTokenUnits, toTokenUnits } from '../domain/money.ts';
import { NATIVE_COIN } from '../domain/networks.ts';
import type { MoveDraft, PayoutDraft } from '../domain/events/treasury-events.ts';
import type { PayoutNetwork } from '../ports/signer-protocol.ts';
import type { DepositProof } from '../domain/deposit-proof.ts';
import type { PayoutOrder } from '../ports/payouts.ts';
import { tronAddressOf } from './account-address.ts';
import { agreed, postJson, type ChainView, type FoundDeposit, type JournaledBytes, type SignedBytes } from './chain-view.ts';
import { signedTron, tronPayoutBytes, type TronDraft } from './tron-payout-bytes.ts';
import type { SigningWallet } from './signing-wallet.ts';

interface Info {
  readonly id?: string;
  readonly result?: string;
  readonly receipt?: { readonly result?: string };
  readonly log?: readonly { readonly address?: string; readonly topics?: readonly string[]; readonly data?: string }[];
}
type View = 'wallet' | 'walletsolidity';

/** Keccak-256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** An amount as a log has it. */
const WORD = /^[0-9a-f]{64}$/i;
const SUN_DECIMALS = 6;
/** Sun; four times what the dearest transfer burnt so far. */
const MAX_FEE_LIMIT = 150_000_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** A provider may ask another machine for the receipt than for the block; that one is believed to lag less than this. */
const BALANCER_LAG_MS = 60_000;

/** TRON as the signer sees it; only what is solidified counts. */
export class TronView implements ChainView {
  readonly #network: PayoutNetwork;

  constructor(network: PayoutNetwork) {
    this.#network = network;
  }

  async findDeposit(proof: DepositProof): Promise<FoundDeposit | null> {
    return agreed(this.#network, async (url) => {
      const [solid, newest] = [await this.#info(url, 'walletsolidity', proof.txHash), await this.#info(url, 'wallet', proof.txHash)];
      const info = solid ?? newest;
      const log = info && succeeded(info) ? info.log?.[proof.logIndex] : undefined;
      const token = this.#network.tokens.find(({ address }) => address === addressOf(log?.address ?? ''));
      if (!log || !token || log.topics?.length !== 3 || log.topics[0] !== TRANSFER_TOPIC || !WORD.test(log.data ?? '')) return null;
      if (addressOf(log.topics[2]!) !== proof.toAddress) return null;
      return {
        depositKey: `tron:${info!.id!.toLowerCase()}:${proof.logIndex}`,
        coin: token.coin,
        units: fromTokenUnits(BigInt(`0x${log.data}`), token.decimals),
        payer: addressOf(log.topics[1]!),
        final: solid !== null,
      };
    });
  }

  faultOf(draft: MoveDraft, order: { readonly coin: string; readonly amount: string }): string | null {
    if (draft.kind !== 'tron' && draft.kind !== 'tron-native') return 'the draft is for another chain';
    if (draft.kind === 'tron-native') {
      if (order.coin !== NATIVE_COIN.tron) return 'the draft moves another coin';
      if (BigInt(draft.sun) !== toTokenUnits(amountOf(order.amount), SUN_DECIMALS)) return 'the draft moves another amount';
    } else {
      const token = this.#network.tokens.find(({ coin }) => coin === order.coin);
      if (!token || draft.tokenAddress !== token.address) return 'the draft moves another token';
      if (BigInt(draft.tokenUnits) !== toTokenUnits(amountOf(order.amount), token.decimals)) return 'the draft moves another amount';
      if (draft.feeLimit > MAX_FEE_LIMIT) return 'the draft could burn too much TRX';
    }
    return draft.expirationMs - draft.timestampMs > MAX_LIFETIME_MS ? 'the draft lives too long' : null;
  }

  sign(draft: PayoutDraft, order: PayoutOrder, wallet: SigningWallet): Promise<SignedBytes> {
    return signedTron(tronPayoutBytes(draft as TronDraft, wallet.treasury.tron, order.toAddress), 'treasury', wallet);
  }

  async mayFollow(last: JournaledBytes, next: MoveDraft): Promise<boolean> {
    return 'expirationMs' in next && this.#isDead(last, false);
  }

  async hadNoEffect(entries: readonly JournaledBytes[]): Promise<boolean> {
    for (const entry of entries) if (!(await this.#isDead(entry, true))) return false;
    return true;
  }

  /** Expired in solidified time without being in a solidified block; or, where `failedCounts`, in one without effect. */
  #isDead({ draft, txHash }: JournaledBytes, failedCounts: boolean): Promise<boolean> {
    return agreed(this.#network, async (url) => {
      const block = (await this.#ask(url, 'walletsolidity', 'getnowblock', {})) as { block_header?: { raw_data?: { timestamp?: number } } };
      const info = await this.#info(url, 'walletsolidity', txHash);
      if (info !== null) return failedCounts && !succeeded(info);
      return 'expirationMs' in draft && (block.block_header?.raw_data?.timestamp ?? 0) >= draft.expirationMs + BALANCER_LAG_MS;
    });
  }

  async #info(url: string, view: View, txHash: string): Promise<Info | null> {
    const info = (await this.#ask(url, view, 'gettransactioninfobyid', { value: txHash })) as Info;
    return info.id === txHash ? info : null;
  }

  #ask(url: string, view: View, call: string, body: object): Promise<unknown> {
    return postJson(this.#network, `${url.replace(/\/$/, '')}/${view}/${call}`, body);
  }
}

const succeeded = (info: Info): boolean => info.receipt?.result === 'SUCCESS' && info.result !== 'FAILED';

/** Of the hex forms that nodes write: 20 bytes, 21 bytes with `41`, or a log's word of 32. */
function addressOf(hex: string): string | null {
  return /^(0x)?([0-9a-f]{2})*[0-9a-f]{40}$/i.test(hex) ? tronAddressOf(Buffer.from(hex.slice(-40), 'hex')) : null;
}
