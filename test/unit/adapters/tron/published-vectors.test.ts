import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TronWeb, utils } from 'tronweb';
import { describe, expect, it } from 'vitest';
import {
  decodeRaw,
  encodeRaw,
  rawFromJson,
  rawToJson,
  signerOf,
  transactionId,
} from '../../../../src/sandbox/tron-facade/tron-transaction.ts';
import { REPOSITORY } from '../../../support/repository.ts';

/**
 * Bytes, ids and signatures that others published. Tronweb builds and the sandbox decodes, so only vectors from outside
 * can prove that both speak TRON and not merely the same dialect.
 */
interface Vector {
  readonly name: string;
  readonly rawData: Parameters<typeof rawFromJson>[0] & {
    contract: { parameter: { value: { owner_address: string } } }[];
  };
  readonly rawDataHex: string | null;
  readonly txId: string;
  readonly privateKey: string | null;
  readonly signature: string | null;
}

const vectors = JSON.parse(
  readFileSync(join(REPOSITORY, 'test', 'fixtures', 'chains', 'tron', 'published-vectors.json'), 'utf8'),
) as Vector[];
const ownerOf = (vector: Vector): string => vector.rawData.contract[0]!.parameter.value.owner_address;

describe.each(vectors)('published TRON vector: $name', (vector) => {
  const rawHex = encodeRaw(rawFromJson(vector.rawData));

  it('has the published bytes and id in the sandbox', () => {
    if (vector.rawDataHex !== null) expect(rawHex).toBe(vector.rawDataHex);
    expect(transactionId(rawHex)).toBe(vector.txId);
  });

  it('has the published bytes and id in tronweb', () => {
    const message: unknown = utils.transaction.txJsonToPb({ visible: false, raw_data: vector.rawData });
    expect(utils.transaction.txPbToTxID(message)).toBe(`0x${vector.txId}`);
    expect(utils.transaction.txPbToRawDataHex(message).toLowerCase()).toBe(rawHex);
  });

  it('decodes back to what was said, in hex and in visible form', () => {
    const decoded = decodeRaw(vector.rawDataHex ?? rawHex);
    expect(rawToJson(decoded, false)).toEqual(vector.rawData);
    expect(encodeRaw(rawFromJson(rawToJson(decoded, true)))).toBe(rawHex);
  });

  it.runIf(vector.signature !== null)('carries a signature of its owner', () => {
    expect(signerOf(vector.txId, vector.signature!)).toBe(ownerOf(vector));
    const tampered = vector.txId.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    expect(signerOf(tampered, vector.signature!)).not.toBe(ownerOf(vector));
  });

  it.runIf(vector.privateKey !== null)('is signed the same way by tronweb', async () => {
    const web = new TronWeb({ fullHost: 'http://127.0.0.1:1' });
    const signed = await web.trx.sign(
      { visible: false, txID: vector.txId, raw_data: vector.rawData, raw_data_hex: rawHex } as never,
      vector.privateKey!,
    );
    const [signature] = (signed as unknown as { signature: string[] }).signature;
    const bytes = Buffer.from(signature!, 'hex');
    expect(bytes.subarray(0, 64).toString('hex')).toBe(vector.signature!.slice(0, 128));
    expect(bytes[64]! % 27).toBe(Number.parseInt(vector.signature!.slice(128), 16));
  });
});
