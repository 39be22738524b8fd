import { getBytes, keccak256 } from 'ethers';
import { topicOf, TRANSFER_TOPIC } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

/** A bit of the header's bloom filter: the index of its hex digit and its mask in that digit. */
interface BloomBit {
  readonly digit: number;
  readonly mask: number;
}

/**
 * Yellow paper, M3:2048: the low 11 bits of the first three 16-bit words of the Keccak-256 hash, counted from the end.
 */
function bitsOf(value: string): BloomBit[] {
  const hash = getBytes(keccak256(value));
  return [0, 2, 4].map((at) => {
    const bit = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047;
    return { digit: 2 + 511 - (bit >> 2), mask: 1 << (bit & 3) };
  });
}

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * Tells from a block's header alone whether it may contain a transfer of the token, optionally between two given
 * addresses. Has no false negatives.
 */
export function createTransferBloom(
  tokenAddress: string,
  ...fromAndTo: (string | null)[]
): (logsBloom: string) => boolean {
  const parties = fromAndTo.map((address) => topicOf(address ?? ZERO_ADDRESS));
  const bits = [tokenAddress, TRANSFER_TOPIC, ...parties].flatMap(bitsOf);
  return (logsBloom) => bits.every(({ digit, mask }) => (Number.parseInt(must(logsBloom[digit]), 16) & mask) !== 0);
}
