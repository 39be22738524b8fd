import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressGroup, createClientAddress } from '../../../../src/runtime/http/client-address.ts';

const PEER = '10.0.0.2';
const addressOf = (proxies: number, forwarded?: string, peer: string = PEER): string =>
  createClientAddress(proxies)({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress: peer } as Socket,
  });

describe('the address of a client', () => {
  it.each([
    ['without proxies is the peer, whatever it claims', 0, '1.2.3.4', PEER],
    ['behind one proxy is what that proxy saw', 1, '1.2.3.4', '1.2.3.4'],
    ['behind one proxy is never what the client sent along', 1, '9.9.9.9, 8.8.8.8, 1.2.3.4', '1.2.3.4'],
    ['behind two proxies is what the outer one saw', 2, '9.9.9.9, 1.2.3.4, 10.0.0.7', '1.2.3.4'],
    ['of somebody who went past the outer proxy is what the inner one saw', 2, '1.2.3.4', '1.2.3.4'],
    ['is the proxy when the proxy added nothing', 1, undefined, PEER],
    ['is the proxy when the entry is no address', 1, 'unknown', PEER],
    ['is the proxy when the entry is empty', 1, '1.2.3.4,', PEER],
    ['is read with a port', 1, '1.2.3.4:5678', '1.2.3.4'],
    ['is read as IPv6', 1, '2001:DB8:0:0::1', '2001:db8::1'],
    ['is read as IPv6 with a port', 1, '[2001:db8::1]:443', '2001:db8::1'],
    ['is read without the zone', 1, 'fe80::1%eth0', 'fe80::1'],
    ['in IPv6 form is IPv4', 1, '::ffff:1.2.3.4', '1.2.3.4'],
    ['is not read from numbers that other programs take for addresses', 1, '16909060', PEER],
  ] as const)('%s', (_, proxies, forwarded, expected) => {
    expect(addressOf(proxies, forwarded)).toBe(expected);
  });

  it('of a peer is IPv4 if it comes in IPv6 form', () => {
    expect(addressOf(0, undefined, '::ffff:127.0.0.1')).toBe('127.0.0.1');
  });

  it('cannot be changed by anything the client puts in front', () => {
    const anything = fc.string().filter((text) => !text.includes(','));
    fc.assert(
      fc.property(
        fc.array(anything, { maxLength: 5 }),
        fc.ipV4(),
        fc.integer({ min: 0, max: 1 }),
        (claims, seen, proxies) => {
          const forwarded = [...claims, seen].join(',');
          expect(addressOf(proxies, forwarded)).toBe(proxies === 0 ? PEER : seen);
        },
      ),
    );
  });
});

describe('the address that rate limits use', () => {
  it('is one IPv4 address', () => expect(addressGroup('1.2.3.4')).toBe('1.2.3.4'));
  it('is the /64 of an IPv6 address', () => {
    expect(addressGroup('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(addressGroup('2001:db8:1:2:ffff::')).toBe('2001:db8:1:2::/64');
    expect(addressGroup('2001:db8:1:3::1')).not.toBe(addressGroup('2001:db8:1:2::1'));
  });
  it('uses an invalid address as it is', () => expect(addressGroup('unknown')).toBe('unknown'));
});
