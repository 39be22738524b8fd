import { EventEmitter } from 'node:events';
import type { Response } from 'express';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveReaders } from '../../../src/console/live.ts';
import { IDLE_SEC } from '../../../src/features/people/people.ts';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

class FakeResponse extends EventEmitter {
  written = '';
  code = 200;
  isEnded = false;
  set(): this {
    return this;
  }
  status(code: number): this {
    this.code = code;
    return this;
  }
  flushHeaders(): void {}
  write(text: string): void {
    this.written += text;
  }
  end(text = ''): void {
    this.written += text;
    this.isEnded = true;
    this.emit('close');
  }
  get looks(): number {
    return this.written.split('event: look').length - 1;
  }
}

describe('open pages', () => {
  let head: string | null;
  let readers: LiveReaders;
  const open = (person = 'per_1', isSignedIn = () => true): FakeResponse => {
    const response = new FakeResponse();
    readers.open(response as unknown as Response, person, isSignedIn);
    return response;
  };

  beforeEach(() => {
    vi.useFakeTimers();
    head = '1';
    readers = new LiveReaders({
      head: () => (head === null ? Promise.reject(new Error('gone')) : Promise.resolve(head)),
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('are told to refresh when something was recorded, and occasionally when nothing was', async () => {
    const page = open();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(page.looks).toBe(1);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(page.looks).toBe(1);
    head = '2';
    await vi.advanceTimersByTimeAsync(2_000);
    expect(page.looks).toBe(2);
    await vi.advanceTimersByTimeAsync(14_000);
    expect(page.looks).toBe(3);
  });

  it('get no refresh while the log does not respond', async () => {
    const page = open();
    await vi.advanceTimersByTimeAsync(2_000);
    head = null;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(page.looks).toBe(1);
  });

  it('are told when their person is signed out, and receive nothing afterwards', async () => {
    let isSignedIn = true;
    const [mine, other] = [open('per_1', () => isSignedIn), open('per_2')];
    isSignedIn = false;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([mine.isEnded, mine.looks, mine.written]).toEqual([true, 0, expect.stringContaining('event: ended')]);
    expect([other.isEnded, other.looks]).toEqual([false, 1]);
  });

  it('are so many for each person, and none is kept that was closed', () => {
    const all = Array.from({ length: 17 }, () => open());
    expect(all.map(({ code }) => code)).toEqual([...Array<number>(16).fill(200), 204]);
    expect(open('per_2').code).toBe(200);
    for (const page of all) page.emit('close');
    expect(open().code).toBe(200);
  });
});

describe('a page that refreshes by itself', () => {
  let world: ConsoleWorld;
  let ada: TestPerson;
  const byPage = { 'quittance-live': '1' };
  const pass = (sec: number): void => void (world.nowMs += sec * 1000);

  beforeAll(async () => {
    world = await ConsoleWorld.start();
    ada = await world.person('Ada', { role: 'operator' });
  });
  afterAll(() => world.close());

  it('keeps nobody signed in who is idle, and is notified when the sign-in ends', async () => {
    pass(IDLE_SEC - 10);
    expect((await world.get('/merchants', ada, byPage)).status).toBe(200);
    pass(5);
    expect((await world.get('/merchants', ada)).status).toBe(200);
    pass(IDLE_SEC - 10);
    expect((await world.get('/merchants', ada, byPage)).status).toBe(200);
    pass(15);
    expect([(await world.get('/merchants', ada, byPage)).status, (await world.get('/live', ada)).status]).toEqual([
      401, 401,
    ]);
    expect((await world.get('/merchants', ada)).status).toBe(303);
  });

  it('has a script where others change what it shows, and nowhere where something is written', async () => {
    ada.token = await world.signIn(ada);
    expect((await world.get('/actions', ada)).body).toContain('/assets/live.js');
    expect((await world.get('/people', ada)).body).not.toContain('/assets/live.js');
  });
});
