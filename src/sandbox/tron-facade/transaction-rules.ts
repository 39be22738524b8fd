import type { EvmNode } from './evm-node.ts';
import { base58Of, bytesOfHex, evmAddressOf } from './tron-codec.ts';
import type { FacadeBlock } from './block.ts';
import { signerOf, type RawTransaction } from './tron-transaction.ts';
import { must } from '../../domain/values/must.ts';

/** Refusals as java-tron names them (`GrpcAPI.Return.response_code`). */
export type BroadcastCode =
  | 'SIGERROR'
  | 'CONTRACT_VALIDATE_ERROR'
  | 'CONTRACT_EXE_ERROR'
  | 'BANDWITH_ERROR'
  | 'DUP_TRANSACTION_ERROR'
  | 'TAPOS_ERROR'
  | 'TRANSACTION_EXPIRATION_ERROR'
  | 'OTHER_ERROR';

export interface Candidate {
  readonly raw: RawTransaction;
  readonly txId: string;
  readonly signatures: readonly string[];
  readonly sizeBytes: number;
  /** The id is in a block or about to be. */
  readonly known: boolean;
  readonly headNumber: number;
  readonly block: (number: number) => FacadeBlock | null;
  readonly evm: EvmNode;
}

interface Refusal {
  readonly code: BroadcastCode;
  readonly message: string;
}

/** Sun for each byte of a transaction, and for each unit of energy (chain parameters of the main network). */
export const SUN_PER_BYTE = 1_000n;
export const SUN_PER_ENERGY = 100n;
/** The most that a transaction may offer for energy. */
export const MAX_FEE_LIMIT_SUN = 15_000_000_000n;
/** Creating an account: what the chain takes, and its bandwidth; the receipt's parts show the second alone. */
export const ACTIVATION_SUN = 1_000_000n;
export const ACTIVATION_NET_SUN = 100_000n;
/** Bytes a result adds to every transaction. */
const RESULT_BYTES = 64;
const MAX_LIFETIME_MS = 24 * 3600 * 1000;
const REFERENCE_WINDOW = 65_536;

export const bandwidthFee = (sizeBytes: number): bigint => BigInt(sizeBytes + RESULT_BYTES) * SUN_PER_BYTE;

/** Why a node would reject the transaction; null when it would accept it. */
export async function refusalOf(candidate: Candidate): Promise<Refusal | null> {
  const { raw, txId, signatures } = candidate;
  if (signatures.length !== 1 || signerOf(txId, must(signatures[0])) !== raw.contract.owner) {
    return { code: 'SIGERROR', message: 'Validate signature error: the signature is not the owner’s' };
  }
  if (candidate.known) return { code: 'DUP_TRANSACTION_ERROR', message: 'Dup transaction.' };
  const headTimeMs = must(candidate.block(candidate.headNumber)).timeMs;
  if (raw.expirationMs <= headTimeMs || raw.expirationMs > headTimeMs + MAX_LIFETIME_MS) {
    return {
      code: 'TRANSACTION_EXPIRATION_ERROR',
      message: `Transaction expired: expiration ${raw.expirationMs}, head block time ${headTimeMs}`,
    };
  }
  if (!knowsReference(candidate)) return { code: 'TAPOS_ERROR', message: 'Tapos check error.' };
  return contractRefusal(candidate);
}

/** The reference must name a recent block of this chain: its low number bytes and eight bytes of its id. */
function knowsReference({ raw, headNumber, block }: Candidate): boolean {
  const bytes = bytesOfHex(raw.refBlockBytes);
  if (bytes.length !== 2) return false;
  const low = bytes.readUInt16BE(0);
  const number = headNumber - ((headNumber - low) & (REFERENCE_WINDOW - 1));
  return block(number)?.id.slice(16, 32) === raw.refBlockHash;
}

async function contractRefusal({ raw, sizeBytes, evm }: Candidate): Promise<Refusal | null> {
  const { contract } = raw;
  const invalid = (reason: string): Refusal => ({
    code: 'CONTRACT_VALIDATE_ERROR',
    message: `Contract validate error : ${reason}`,
  });
  if (raw.feeLimitSun < 0n || raw.feeLimitSun > MAX_FEE_LIMIT_SUN)
    return invalid(`feeLimit must be >= 0 and <= ${MAX_FEE_LIMIT_SUN}`);
  const balance = await evm.balanceOf(evmAddressOf(contract.owner));
  const target = contract.type === 'TransferContract' ? contract.to : contract.contract;
  const isContract = await evm.hasCode(evmAddressOf(target));
  if (!(await evm.isAccount(evmAddressOf(contract.owner))))
    return invalid(`account [${base58Of(contract.owner)}] does not exist`);
  if (contract.type === 'TransferContract') {
    if (isContract) return invalid('Cannot transfer TRX to a smartContract.');
    if (contract.amountSun <= 0n || contract.owner === contract.to)
      return invalid('Amount must be greater than 0 and go to another account.');
    if (balance < contract.amountSun) return invalid('Validate TransferContract error, balance is not sufficient.');
  } else {
    if (!isContract) return invalid('No contract or not a smart contract');
    if (balance < contract.callValueSun) return invalid('Validate InternalTransfer error, balance is not sufficient.');
  }
  const spent = contract.type === 'TransferContract' ? contract.amountSun : contract.callValueSun;
  const isNew = contract.type === 'TransferContract' && !(await evm.isAccount(evmAddressOf(target)));
  if (balance - spent < (isNew ? ACTIVATION_SUN + ACTIVATION_NET_SUN : bandwidthFee(sizeBytes)))
    return { code: 'BANDWITH_ERROR', message: 'Account resource insufficient error.' };
  return null;
}
