/** Whether a series of samples grows: the line that fits it best, by least squares. */

/** One kind of measurement over time. */
export class Series {
  readonly name: string;
  /** How much it may grow from the first to the last sample, by that line, beyond a part of its mean. */
  readonly slack: number;
  readonly #times: number[] = [];
  readonly #values: number[] = [];

  constructor(name: string, slack: number) {
    this.name = name;
    this.slack = slack;
  }

  /** @param time Seconds. */
  add(time: number, value: number): void {
    this.#times.push(time);
    this.#values.push(value);
  }

  get mean(): number {
    return average(this.#values);
  }

  /** The mean of the last samples. */
  get last(): number {
    return average(this.#values.slice(-5));
  }

  /** Growth in a minute, by the line that fits best. */
  get perMinute(): number {
    const [time, value] = [average(this.#times), this.mean];
    const product = this.#times.map((t, i) => (t - time) * (this.#values[i]! - value));
    const square = this.#times.map((t) => (t - time) ** 2);
    const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
    return sum(square) === 0 ? 0 : 60 * sum(product) / sum(square);
  }

  /** Growth over all samples, by that line. */
  get growth(): number {
    const span = this.#times.length < 2 ? 0 : this.#times.at(-1)! - this.#times[0]!;
    return this.perMinute * span / 60;
  }

  /** A tenth of the mean may be noise. */
  get grows(): boolean {
    return this.growth > this.slack + this.mean / 10;
  }
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length);
}
