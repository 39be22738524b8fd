const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGIT_OF = new Map([...ALPHABET].map((character, digit) => [character, BigInt(digit)]));

/** Base58 in Bitcoin's alphabet, which TRON and Solana use too; leading zero bytes become `1`. For short inputs. */
export function base58(bytes: Uint8Array): string {
  let value = BigInt(`0x00${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = ALPHABET[Number(value % 58n)] + text;
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  return '1'.repeat(zeros) + text;
}

/** The bytes behind a base58 text; null when a character is not of the alphabet. */
export function fromBase58(text: string): Uint8Array | null {
  let value = 0n;
  for (const character of text) {
    const digit = DIGIT_OF.get(character);
    if (digit === undefined) return null;
    value = value * 58n + digit;
  }
  const hex = value === 0n ? '' : value.toString(16);
  const zeros = /^1*/.exec(text)![0].length;
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')]);
}
