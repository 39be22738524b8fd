import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
const newPair = (): Pair => generateKeyPairSync('rsa', { modulusLength: 2048 });
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * An OpenID provider at the wire that lets everybody in as whom it is told; it judges client, redirect address, secret
 * and PKCE itself.
 */
export class OpenIdProvider {
  readonly clientId = 'quittance console';
  readonly clientSecret = 'a secret: of the client';
  readonly #server: Server;
  readonly #key = newPair();
  readonly #stranger = newPair();
  readonly #codes = new Map<string, URLSearchParams>();
  /** Who signs in next, as the claims of the ID token say. */
  claims: Record<string, unknown> = {};
  /** Changes to the ID token, as a broken or hostile provider would send it. */
  wrong: { readonly token?: Record<string, unknown>; readonly key?: boolean; readonly state?: string } = {};
  isDown = false;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider();
    await new Promise<void>((done) => provider.#server.listen(0, '127.0.0.1', done));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.issuer);
    const json = (status: number, value: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (this.isDown) return json(500, {});
    if (url.pathname === '/.well-known/openid-configuration') {
      const { issuer } = this;
      const endpoints = {
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
      };
      const supported = {
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      };
      return json(200, { issuer, ...endpoints, ...supported });
    }
    if (url.pathname === '/keys')
      return json(200, {
        keys: [{ ...this.#key.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }],
      });
    if (url.pathname === '/authorize') return this.#authorize(url.searchParams, response);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    return this.#redeem(new URLSearchParams(body), json);
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = randomUUID();
    this.#codes.set(code, query);
    const back = new URL(query.get('redirect_uri')!);
    back.searchParams.set('code', code);
    back.searchParams.set('state', this.wrong.state ?? query.get('state')!);
    response.writeHead(303, { location: back.href }).end();
  }

  #redeem(form: URLSearchParams, json: (status: number, value: object) => void): void {
    const asked = this.#codes.get(form.get('code') ?? '');
    this.#codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isClient = form.get('client_id') === this.clientId && form.get('client_secret') === this.clientSecret;
    const isSame = asked?.get('redirect_uri') === form.get('redirect_uri') && asked?.get('client_id') === this.clientId;
    const isProven = asked?.get('code_challenge_method') === 'S256' && asked.get('code_challenge') === challenge;
    if (!asked || !isClient || !isSame || !isProven || !asked.get('scope')?.includes('openid'))
      return json(400, { error: 'invalid_grant' });
    const nowSec = Math.floor(Date.now() / 1000);
    const told = {
      iss: this.issuer,
      aud: this.clientId,
      iat: nowSec,
      exp: nowSec + 60,
      nonce: asked.get('nonce'),
      ...this.claims,
      ...this.wrong.token,
    };
    const head = `${encoded({ alg: 'RS256', kid: 'one' })}.${encoded(told)}`;
    const signature = sign(
      'sha256',
      Buffer.from(head),
      (this.wrong.key === true ? this.#stranger : this.#key).privateKey,
    ).toString('base64url');
    json(200, { access_token: randomUUID(), token_type: 'Bearer', expires_in: 60, id_token: `${head}.${signature}` });
  }
}
