import { describe, expect, it } from 'vitest';
import { addressIndex, addressKey, ADDRESSES_TABLE } from '../../../projections/addresses/address-index.projection.ts';
import {
  API_KEYS_TABLE,
  merchantDirectory,
  MERCHANTS_TABLE,
  type MerchantRow,
} from '../../../projections/merchants/merchant-directory.projection.ts';
import type { DomainEvent } from '../../../src/domain/events/domain-event.ts';
import type { MerchantEvent } from '../../../src/domain/events/merchant-events.ts';
import type { ApiKeyId } from '../../../src/domain/values/ids.ts';
import type { Projection, RowReader } from '../../../src/ports/read-model/projection.ts';
import type { Row } from '../../../src/ports/read-model/read-model.ts';
import { createdFacts, MERCHANT_ID, SESSION_ID } from '../../support/session-facts.ts';
import { OUTCOME_TYPES } from '../../../src/domain/notifications/types.ts';
import { NEW_ENDPOINT } from '../../../state-machines/merchant/endpoints.decider.ts';

/** Applies events of one stream and gives the rows. */
function tablesAfter(projection: Projection, stream: string, events: readonly DomainEvent[]): Map<string, Row> {
  const rows = new Map<string, Row>();
  events.forEach((event, revision) => {
    const stored = {
      stream,
      revision,
      position: String(revision),
      id: String(revision),
      version: 1,
      atMs: 0,
      metadata: { correlationId: '', actor: '', prev: '' },
      hash: '',
      event,
    };
    const named = new Set(projection.needs(stored).map((ref) => `${ref.table}|${ref.key}`));
    const read = ((table: string, key: string) => {
      if (!named.has(`${table}|${key}`)) throw new Error(`${table}|${key} was not named`);
      return rows.get(`${table}|${key}`) ?? null;
    }) as RowReader;
    for (const change of projection.apply(stored, read)) {
      if (change.op === 'put') rows.set(`${change.table}|${change.key}`, change.row);
      else if (change.op === 'delete') rows.delete(`${change.table}|${change.key}`);
    }
  });
  return rows;
}

const merchantId = MERCHANT_ID;
const registered: MerchantEvent = { type: 'MerchantRegistered', data: { merchantId, name: 'Mugs', mode: 'test' } };
const key = (id: string): MerchantEvent => ({
  type: 'ApiKeyIssued',
  data: {
    merchantId,
    keyId: id as ApiKeyId,
    mode: 'test',
    keyHash: `hash of ${id}`,
    hint: 'sk_test_…1234',
    sealedSecret: `sealed ${id}`,
  },
});
const endpoint = (url: string | null, sealedSecret: string | null): MerchantEvent => ({
  type: 'WebhookEndpointSet',
  data: { merchantId, endpointId: 'we_1', url, sealedSecret, ...NEW_ENDPOINT, events: OUTCOME_TYPES },
});
const merchantAfter = (...events: MerchantEvent[]): MerchantRow =>
  tablesAfter(merchantDirectory, `merchant-${merchantId}`, [registered, ...events]).get(
    `${MERCHANTS_TABLE}|${merchantId}`,
  ) as MerchantRow;

describe('the merchant directory', () => {
  it('finds a usable key by its hash, with its secret still sealed, and not after it was revoked', () => {
    const issued = tablesAfter(merchantDirectory, `merchant-${merchantId}`, [registered, key('key_1'), key('key_2')]);
    expect(issued.get(`${API_KEYS_TABLE}|hash of key_1`)).toEqual({
      keyId: 'key_1',
      merchantId,
      mode: 'test',
      hint: 'sk_test_…1234',
      sealedSecret: 'sealed key_1',
    });
    const revoked = tablesAfter(merchantDirectory, `merchant-${merchantId}`, [
      registered,
      key('key_1'),
      key('key_2'),
      { type: 'ApiKeyRevoked', data: { merchantId, keyId: 'key_1' as ApiKeyId } },
    ]);
    expect(revoked.has(`${API_KEYS_TABLE}|hash of key_1`)).toBe(false);
    expect(revoked.has(`${API_KEYS_TABLE}|hash of key_2`)).toBe(true);
    expect(
      (revoked.get(`${MERCHANTS_TABLE}|${merchantId}`) as MerchantRow).keys.map((row) => [row.keyId, row.revoked]),
    ).toEqual([
      ['key_1', true],
      ['key_2', false],
    ]);
  });

  it('keeps the webhook secret when only the URL changes, and removes the endpoint with its URL', () => {
    const moved = merchantAfter(endpoint('https://a.example', 'sealed A'), endpoint('https://b.example', null));
    expect(moved.endpoints).toEqual([
      {
        endpointId: 'we_1',
        url: 'https://b.example',
        sealedSecret: 'sealed A',
        nextSealedSecret: null,
        activatesAtSec: null,
        durableRedelivery: false,
        suspended: null,
      },
    ]);
    expect(merchantAfter(endpoint('https://a.example', 'sealed A'), endpoint(null, null)).endpoints).toEqual([]);
  });

  it('keeps the issued webhook secret alongside the old one until it is activated', () => {
    const issued: MerchantEvent = {
      type: 'WebhookSecretRotated',
      data: { merchantId, endpointId: 'we_1', step: 'issued', sealedSecret: 'sealed B', activatesAtSec: 99 },
    };
    const activated: MerchantEvent = {
      type: 'WebhookSecretRotated',
      data: { merchantId, endpointId: 'we_1', step: 'activated', sealedSecret: null, activatesAtSec: null },
    };
    const during = merchantAfter(endpoint('https://a.example', 'sealed A'), issued);
    expect(during.endpoints[0]).toMatchObject({
      sealedSecret: 'sealed A',
      nextSealedSecret: 'sealed B',
      activatesAtSec: 99,
    });
    const after = merchantAfter(endpoint('https://a.example', 'sealed A'), issued, activated);
    expect(after.endpoints[0]).toMatchObject({
      sealedSecret: 'sealed B',
      nextSealedSecret: null,
      activatesAtSec: null,
    });
  });

  it('knows a suspended endpoint until it is resumed', () => {
    const suspended: MerchantEvent = {
      type: 'WebhookEndpointSuspended',
      data: { merchantId, endpointId: 'we_1', reason: 'gone' },
    };
    const resumed: MerchantEvent = { type: 'WebhookEndpointResumed', data: { merchantId, endpointId: 'we_1' } };
    expect(merchantAfter(endpoint('https://a.example', 's'), suspended).endpoints[0]?.suspended).toBe('gone');
    expect(merchantAfter(endpoint('https://a.example', 's'), suspended, resumed).endpoints[0]?.suspended).toBeNull();
  });

  it('holds the domains and only the settings that the merchant set', () => {
    const domain = (domainId: string, host: string): MerchantEvent => ({
      type: 'DomainAdded',
      data: { merchantId, domainId, host, shopName: 'Mugs' },
    });
    const merchant = merchantAfter(
      domain('dom_1', 'a.example'),
      domain('dom_2', 'b.example'),
      { type: 'DomainRemoved', data: { merchantId, domainId: 'dom_1' } },
      { type: 'PolicySet', data: { merchantId, policy: { tolerance: '0.10' } } },
      { type: 'PolicySet', data: { merchantId, policy: { settlementCoin: 'USDC', tolerance: '0.20' } } },
    );
    expect(merchant.domains).toEqual([{ domainId: 'dom_2', host: 'b.example', shopName: 'Mugs' }]);
    expect(merchant.policy).toEqual({ settlementCoin: 'USDC', tolerance: '0.20' });
  });
});

describe('the address index', () => {
  it('names the session of every assigned address, once per family, EVM addresses in any letter case', () => {
    const option = {
      coin: 'USDT' as const,
      tokenAddress: 't',
      decimals: 6,
      chainId: '1',
      finality: { kind: 'finalized' as const },
    };
    const rows = tablesAfter(addressIndex, `session-${SESSION_ID}`, [
      {
        type: 'SessionCreated',
        data: createdFacts({
          paymentOptions: [
            { network: 'ethereum', address: '0xAbC', derivationIndex: 7, ...option },
            { network: 'bsc', address: '0xAbC', derivationIndex: 7, ...option },
            { network: 'tron', address: 'TAbC', derivationIndex: 3, ...option },
            { network: 'solana', address: 'SoAb', derivationIndex: 9, ...option },
          ],
        }),
      },
    ]);
    expect(rows).toEqual(
      new Map([
        [`${ADDRESSES_TABLE}|test/evm/0xabc`, { sessionId: SESSION_ID, derivationIndex: 7 }],
        [`${ADDRESSES_TABLE}|test/tron/TAbC`, { sessionId: SESSION_ID, derivationIndex: 3 }],
        [`${ADDRESSES_TABLE}|test/solana/SoAb`, { sessionId: SESSION_ID, derivationIndex: 9 }],
      ]),
    );
    expect(addressKey('live', 'evm', '0xABC')).toBe('live/evm/0xabc');
    expect(addressKey('test', 'tron', 'TAbC')).not.toBe(addressKey('test', 'tron', 'tabc'));
  });
});
