import { describe, expect, it } from 'vitest';
import { foreignRequest } from '../../../../src/runtime/http/loopback-request.ts';

describe('a request to a server of this machine', () => {
  it.each(['127.0.0.1:8080', '127.0.0.1', 'localhost:1', 'LOCALHOST:8080', '[::1]:8080', '127.1.2.3:80'])(
    'is taken with Host %s',
    (host) => {
      expect(foreignRequest({ host }, 'POST')).toBeNull();
    },
  );

  it.each([
    undefined,
    '',
    'rebound.example:8080',
    '127.0.0.1.rebound.example',
    'localhost.rebound.example:8080',
    'localhost:8080@rebound.example',
    '10.0.0.1:8080',
    '0.0.0.0:8080',
    '127.0.0.1:8080, rebound.example',
  ])('is refused with Host %s', (host) => {
    expect(foreignRequest({ host }, 'GET')).toMatch(/^Host/);
  });

  it('is taken with the host of PUBLIC_URL', () => {
    expect(foreignRequest({ host: 'tunnel.example' }, 'GET', 'https://tunnel.example/')).toBeNull();
    expect(foreignRequest({ host: 'other.example' }, 'GET', 'https://tunnel.example/')).toMatch(/^Host/);
    expect(
      foreignRequest({ host: 'tunnel.example', origin: 'https://tunnel.example' }, 'POST', 'https://tunnel.example/'),
    ).toBeNull();
  });

  it.each([
    'https://evil.example',
    'http://127.0.0.1.evil.example',
    'null',
    'file://',
    'ftp://127.0.0.1',
    'http://rebound.example:8080',
  ])('that changes something is refused from %s', (origin) => {
    expect(foreignRequest({ host: '127.0.0.1:8080', origin }, 'POST')).toMatch(/^Origin/);
    expect(foreignRequest({ host: '127.0.0.1:8080', origin }, 'DELETE')).toMatch(/^Origin/);
    expect(foreignRequest({ host: '127.0.0.1:8080', origin }, 'GET')).toBeNull();
  });

  it.each(['http://127.0.0.1:8080', 'http://localhost:3000', 'https://localhost', 'http://[::1]:8080'])(
    'is taken from %s',
    (origin) => {
      expect(foreignRequest({ host: '127.0.0.1:8080', origin }, 'POST')).toBeNull();
    },
  );

  it('is taken from a page that keeps its origin to itself, when the browser says that it is our own', () => {
    const headers = { host: '127.0.0.1:8080', origin: 'null' };
    expect(foreignRequest({ ...headers, 'sec-fetch-site': 'same-origin' }, 'POST')).toBeNull();
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(foreignRequest({ ...headers, 'sec-fetch-site': site }, 'POST')).toMatch(/^Origin/);
  });
});
