import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';

describe('the networks of a sandbox', () => {
  it('are all of them unless named', () => {
    expect(readConfig({}).SANDBOX_NETWORKS).toEqual(['ethereum', 'bsc', 'tron', 'solana']);
    expect(readConfig({ SANDBOX_NETWORKS: 'tron, ethereum' }).SANDBOX_NETWORKS).toEqual(['tron', 'ethereum']);
  });

  it.each(['dogecoin', 'ethereum,dogecoin', ',', 'Ethereum'])('are refused by the name of the setting: %s', (text) =>
    expect(() => readConfig({ SANDBOX_NETWORKS: text })).toThrow(/SANDBOX_NETWORKS/),
  );
});

it.each([
  ['abc', 'PORT: must be a whole number'],
  ['1.5', 'PORT: must be a whole number'],
  ['70000', 'PORT: Too big: expected number to be <=65535'],
])('a port that is none is refused in words: %s', (PORT, fault) => expect(() => readConfig({ PORT })).toThrow(fault));

describe.each(['PUBLIC_URL', 'CONSOLE_URL'] as const)('%s', (name) => {
  it.each(['https://pay.example', 'https://pay.example/', 'http://127.0.0.1:8080'])(
    'takes the root of a host: %s',
    (url) => expect(readConfig({ [name]: url })[name]).toBe(url),
  );

  it.each([
    'https://shop.example/pay',
    'https://shop.example/pay/',
    'https://shop.example/?tenant=1',
    'https://shop.example/#pay',
    'https://user:word@shop.example',
  ])('refuses anything below it, where links, scripts and signed paths would break: %s', (url) =>
    expect(() => readConfig({ [name]: url })).toThrow(`${name}: must be a URL without a path`),
  );

  it('refuses what is no URL', () => expect(() => readConfig({ [name]: 'pay.example' })).toThrow(name));
});
