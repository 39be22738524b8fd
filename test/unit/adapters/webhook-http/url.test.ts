import { describe, expect, it } from 'vitest';
import { forbiddenReason } from '../../../../src/adapters/webhook-http/forbidden-addresses.ts';
import { vetWebhookUrl, type UrlRules } from '../../../../src/adapters/webhook-http/url.ts';

const production: UrlRules = { allowInsecure: false, ownHosts: ['pay.shop.com', 'admin.shop.com:8443'] };
const sandbox: UrlRules = { allowInsecure: true, ownHosts: ['127.0.0.1:8080'] };

describe('a webhook URL in production', () => {
  it.each([
    ['https://example.org/hook', 'https://example.org/hook'],
    ['https://example.org', 'https://example.org/'],
    ['HTTPS://EXAMPLE.ORG/Hook?a=1#part', 'https://example.org/Hook?a=1'],
    ['https://example.org:443/hook', 'https://example.org/hook'],
    ['https://hooks.example.org:8443/a/b', 'https://hooks.example.org:8443/a/b'],
    ['https://93.184.215.14/hook', 'https://93.184.215.14/hook'],
    ['https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook', 'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook'],
    ['https://bücher.example.org/', 'https://xn--bcher-kva.example.org/'],
  ])('may be %s', (text, url) => {
    expect(vetWebhookUrl(text, production)).toEqual({ ok: true, url });
  });

  it.each([
    // W17: forms that a URL parser turns into 127.0.0.1 or 0.0.0.0, and names of the machine itself.
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://①②⑦.⓪.⓪.①/',
    'https://0/',
    'https://[::]/',
    'https://localhost./',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://a.localhost/',
    'https://db/',
    'https://db.internal/',
    'https://printer.local/',
    'https://127.0.0.1./',
    // Public, but written so that a reader sees something else.
    'https://0x08.0x08.0x08.0x08/',
    'https://134744072/',
  ])('may not be %s, which is not a public host', (text) => {
    expect(vetWebhookUrl(text, production).ok).toBe(false);
  });

  it.each([
    // W18
    'https://[::1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b:1::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://[fd00:ec2::254]/',
    'https://[fc00::1]/',
    'https://[ff02::1]/',
    'https://[2001:db8::1]/',
    'https://169.254.169.254/',
    'https://100.64.0.1/',
    'https://100.100.100.200/',
    'https://192.0.0.192/',
    'https://198.18.0.1/',
    'https://224.0.0.1/',
    'https://240.0.0.1/',
    'https://255.255.255.255/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
    'https://168.63.129.16/',
    'https://203.0.113.5/',
    'https://192.88.99.1/',
  ])('may not be %s, which is a forbidden address', (text) => {
    expect(vetWebhookUrl(text, production)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('forbidden address'),
    });
  });

  it.each([
    // W19
    'http://example.org/',
    'http://example.org:443/',
    'file:///etc/passwd',
    'gopher://example.org/',
    'unix:/var/run/docker.sock',
    'https:evil.com',
    'https:/evil.com',
    'https:///evil.com',
    'https:\\\\evil.com',
    'https://a@b.com/',
    'https://user:pass@example.org/',
    'https://example.org\\@127.0.0.1/',
    'https://example.org:22/',
    'https://example.org:6379/',
    'https://example.org:80/',
    'https://example.org:0/',
    'https://pay.shop.com/hook',
    'https://PAY.shop.com./hook',
    'https://admin.shop.com:8443/',
    ' https://example.org/',
    'https://example.org/ ',
    'https://exam\tple.org/',
    'https://example.org/\u0000',
    'javascript:alert(1)',
    '',
    'https://',
    'https://?',
    'example.org',
    '//example.org/',
    `https://example.org/${'a'.repeat(2_048)}`,
    'https://[::1',
    'https://a..b/',
    'https://%00.example.org/',
  ])('may not be %j', (text) => {
    expect(vetWebhookUrl(text, production).ok).toBe(false);
  });
});

describe('a webhook URL in a sandbox', () => {
  it.each([
    'http://127.0.0.1:40123/hook',
    'http://localhost:3000/',
    'https://[::1]:8443/',
    'http://192.168.1.5/',
    'http://host.docker.internal:4000/',
  ])('may be %s', (text) => {
    expect(vetWebhookUrl(text, sandbox).ok).toBe(true);
  });
  it.each([
    'http://127.0.0.1:8080/',
    'http://127.0.0.1:6379/',
    'http://127.0.0.1:22/',
    'http://169.254.169.254/',
    'http://[64:ff9b::7f00:1]/',
    'ftp://127.0.0.1/',
    'http://0.0.0.0:4000/',
    'http://a@127.0.0.1:4000/',
  ])('may not be %s even there', (text) => {
    expect(vetWebhookUrl(text, sandbox).ok).toBe(false);
  });
});

describe('an address behind a name', () => {
  it.each([
    '93.184.215.14',
    '8.8.8.8',
    '2606:4700::1111',
    '2a00:1450:4001:80b::200e',
    '192.0.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '169.255.0.1',
  ])('%s is public', (address) => {
    expect(forbiddenReason(address, false)).toBeNull();
  });
  it.each(['127.0.0.1', '::1', '10.1.2.3', 'fd12::1', '100.64.1.1'])('%s is for sandboxes only', (address) => {
    expect(forbiddenReason(address, false)).not.toBeNull();
    expect(forbiddenReason(address, true)).toBeNull();
  });
  it.each([
    '169.254.169.254',
    'fd00:ec2::254',
    '::ffff:8.8.8.8',
    '::8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::',
    '2001:0:808:808::',
    'fe80::1%eth0',
    'fec0::1',
    '0.0.0.0',
    '::',
    '4000::1',
    '127.1',
    'localhost',
    '',
  ])('%j is never allowed', (address) => {
    expect(forbiddenReason(address, false)).not.toBeNull();
    expect(forbiddenReason(address, true)).not.toBeNull();
  });
});
