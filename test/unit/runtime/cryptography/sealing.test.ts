import { createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CannotOpen,
  InvalidMasterKey,
  createPersonalSealer,
  createSealer,
  KeyNotHeld,
  parseMasterKeys,
  personalDataKey,
} from '../../../../src/runtime/cryptography/sealing.ts';
import { parseKeys, SEALED_KINDS, type SealingKeys } from '../../../../src/runtime/cryptography/sealing.ts';

const hexKey = (seed: number): string =>
  Buffer.from(Uint8Array.from({ length: 32 }, (_, index) => (index * 7 + seed) % 256)).toString('hex');
const keys = (...seeds: number[]): SealingKeys => parseMasterKeys(seeds.map(hexKey).join(','));
const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8');
const text = (plain: Uint8Array): string => Buffer.from(plain).toString('utf8');

describe('the master key', () => {
  it('reads hex and base64 alike', () => {
    const raw = Buffer.from(hexKey(1), 'hex');
    const ids = [
      raw.toString('hex'),
      raw.toString('hex').toUpperCase(),
      raw.toString('base64'),
      raw.toString('base64url'),
    ].map((written) => parseMasterKeys(written)['api-secrets']!.keys[0].id);
    expect(new Set(ids).size).toBe(1);
  });

  it('refuses other lengths, other alphabets, constants and repetitions, without showing the key', () => {
    for (const written of [
      '',
      'secret',
      hexKey(1).slice(2),
      `${hexKey(1)}00`,
      'z'.repeat(64),
      '0'.repeat(64),
      `${hexKey(1)},`,
      `${hexKey(1)},${hexKey(1)}`,
    ]) {
      expect(() => parseMasterKeys(written), written).toThrow(InvalidMasterKey);
      try {
        parseMasterKeys(written);
      } catch (error) {
        expect((error as Error).message).not.toContain(hexKey(1).slice(0, 12));
      }
    }
  });
});

describe('a sealed secret', () => {
  it('opens for its purpose, whatever its bytes', () => {
    const sealer = createSealer(keys(1));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (plain, context) => {
        expect(Buffer.from(sealer.open('api-secrets', sealer.seal('api-secrets', plain, context), context))).toEqual(
          Buffer.from(plain),
        );
      }),
    );
  });

  it('does not open for another tenant, id, version or purpose', () => {
    const sealer = createSealer(keys(1));
    const sealed = sealer.seal('api-secrets', bytes('s3cret'), 'mer_a|key_1|1|api_secret');
    for (const context of [
      'mer_b|key_1|1|api_secret',
      'mer_a|key_2|1|api_secret',
      'mer_a|key_1|2|api_secret',
      'mer_a|key_1|1|webhook_secret',
      '',
    ]) {
      expect(() => sealer.open('api-secrets', sealed, context), context).toThrow(CannotOpen);
    }
  });

  it('does not open after any single character was changed', () => {
    const sealer = createSealer(keys(1));
    const sealed = sealer.seal('api-secrets', bytes('s3cret of the merchant'), 'c');
    // The last character of base64url may hold unused bits, so only characters that decode to other bytes count.
    for (let index = 0; index < sealed.length - 1; index++) {
      const other = sealed[index] === 'A' ? 'B' : 'A';
      expect(
        () => sealer.open('api-secrets', sealed.slice(0, index) + other + sealed.slice(index + 1), 'c'),
        String(index),
      ).toThrow(CannotOpen);
    }
  });

  it('does not open when it is cut short or of an unknown version', () => {
    const sealer = createSealer(keys(1));
    const sealed = sealer.seal('api-secrets', bytes('s3cret'), 'c');
    for (const broken of [
      '',
      'v1',
      sealed.slice(0, 20),
      sealed.slice(0, -8),
      sealed.replace('v1.', 'v2.'),
      `${sealed} `,
      `${sealed}.x`,
    ]) {
      expect(() => sealer.open('api-secrets', broken, 'c'), broken).toThrow(CannotOpen);
    }
  });

  it('never looks the same twice and never contains the secret', () => {
    const sealer = createSealer(keys(1));
    const sealed = Array.from({ length: 200 }, () => sealer.seal('api-secrets', bytes('s3cret'), 'c'));
    expect(new Set(sealed.map((it) => it.split('.')[2])).size).toBe(200);
    expect(sealed.join()).not.toContain('s3cret');
    expect(sealed.join()).not.toContain(Buffer.from('s3cret').toString('base64url'));
  });

  it('stays readable when a new master key comes first, and new secrets are sealed under that', () => {
    const old = createSealer(keys(1)).seal('api-secrets', bytes('s3cret'), 'c');
    const rotated = createSealer(keys(2, 1));
    expect(text(rotated.open('api-secrets', old, 'c'))).toBe('s3cret');
    const fresh = rotated.seal('api-secrets', bytes('s3cret'), 'c');
    expect(() => createSealer(keys(1)).open('api-secrets', fresh, 'c')).toThrow(/which MASTER_KEY does not hold/);
    expect(text(createSealer(keys(2)).open('api-secrets', fresh, 'c'))).toBe('s3cret');
  });

  it('uses AES-256-GCM as documented, so that it can be opened without this code', () => {
    const raw = Buffer.from(hexKey(5), 'hex');
    const [, keyId, nonce, body] = createSealer(keys(5))
      .seal('api-secrets', bytes('s3cret'), 'mer_a|key_1|1|api_secret')
      .split('.');
    // HKDF (RFC 5869) by hand, one block: extract with an empty salt, expand with the purpose.
    const extracted = createHmac('sha256', Buffer.alloc(32)).update(raw).digest();
    const key = createHmac('sha256', extracted).update('quittance/api-secrets/v1').update(Buffer.of(1)).digest();
    const sealed = Buffer.from(body!, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce!, 'base64url'));
    decipher.setAAD(Buffer.from(`v1|${keyId}|mer_a|key_1|1|api_secret`));
    decipher.setAuthTag(sealed.subarray(-16));
    expect(Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString()).toBe('s3cret');
  });
});

describe('sealing by kind', () => {
  const only = (kind: (typeof SEALED_KINDS)[number], setting: string, seed: number): SealingKeys => ({
    ...{ 'api-secrets': null, 'webhook-secrets': null, 'personal-data': null },
    [kind]: parseKeys(kind, setting, hexKey(seed)),
  });

  it('has a separate key for every kind, even from one master key', () => {
    const sealed = createSealer(keys(1)).seal('api-secrets', bytes('s3cret'), 'c');
    expect(() => createSealer(keys(1)).open('webhook-secrets', sealed, 'c')).toThrow(CannotOpen);
    expect(new Set(SEALED_KINDS.map((kind) => keys(1)[kind]!.keys[0].id)).size).toBe(3);
  });

  it('opens with the same key, whichever setting names it', () => {
    const sealed = createSealer(keys(1)).seal('webhook-secrets', bytes('s3cret'), 'c');
    const alone = createSealer(only('webhook-secrets', 'WEBHOOK_SECRETS_KEY', 1));
    expect(text(alone.open('webhook-secrets', sealed, 'c'))).toBe('s3cret');
  });

  it('is neither opened nor sealed without its key, and the refusal names the setting', () => {
    const sealed = createSealer(keys(1)).seal('api-secrets', bytes('s3cret'), 'c');
    const without = only('webhook-secrets', 'WEBHOOK_SECRETS_KEY', 1);
    for (const attempt of [
      () => createSealer(without).open('api-secrets', sealed, 'c'),
      () => createSealer(without).seal('api-secrets', bytes('s3cret'), 'c'),
    ])
      expect(attempt).toThrow(
        new KeyNotHeld(
          'API_SECRETS_KEY is not set: this process opens and seals no API secrets; use a process that has it, such as one with the role api',
        ),
      );
    expect(() => createPersonalSealer(without).seal(randomBytes(32), 'cs_a', 'x')).toThrow(
      /^PERSONAL_DATA_KEY is not set/,
    );
    expect(() =>
      createPersonalSealer(without).open(
        randomBytes(32),
        'cs_a',
        createPersonalSealer(keys(1)).seal(randomBytes(32), 'cs_a', 'x'),
      ),
    ).toThrow(KeyNotHeld);
  });

  it('names the setting of an unusable key', () => {
    expect(() => parseKeys('api-secrets', 'API_SECRETS_KEY', 'short')).toThrow(
      /each key of API_SECRETS_KEY must be 32 bytes/,
    );
  });
});

describe('personal data', () => {
  const salt = randomBytes(32);

  it('opens only with salt, subject and master key together', () => {
    const sealer = createPersonalSealer(keys(1));
    const sealed = sealer.seal(salt, 'cs_a', '{"description":"☕"}');
    expect(sealer.open(salt, 'cs_a', sealed)).toBe('{"description":"☕"}');
    expect(() => sealer.open(randomBytes(32), 'cs_a', sealed)).toThrow(CannotOpen);
    expect(() => sealer.open(salt, 'cs_b', sealed)).toThrow(CannotOpen);
    expect(() => createPersonalSealer(keys(2)).open(salt, 'cs_a', sealed)).toThrow(CannotOpen);
    expect(createPersonalSealer(keys(2, 1)).open(salt, 'cs_a', sealed)).toBe('{"description":"☕"}');
  });

  it('has a separate key for every subject and salt', () => {
    const key = (subject: string, salted: Uint8Array) =>
      personalDataKey(keys(1)['personal-data']!.keys[0], salted, subject).export().toString('hex');
    expect(new Set([key('cs_a', salt), key('cs_b', salt), key('cs_a', randomBytes(32))]).size).toBe(3);
    expect(key('cs_a', salt)).toBe(key('cs_a', salt));
  });

  it('refuses a salt of another length, so that an erased one is never taken for an empty one', () => {
    expect(() => createPersonalSealer(keys(1)).seal(new Uint8Array(), 'cs_a', 'x')).toThrow(RangeError);
  });
});
