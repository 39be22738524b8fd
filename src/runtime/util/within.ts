/** What the task gives, or what `late` gives once the time is up. The task goes on, and its later result is ignored. */
export async function within<Value, Late>(ms: number, task: Promise<Value>, late: () => Late): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([task, over.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
