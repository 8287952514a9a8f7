"""Fits with known answers: exact data, the regression line, and errors from its covariance."""

import math
import pickle

import numpy as np
import pytest
from interrupting import interrupted
from models import BALL, ball
from optional import need, need_pyplot
from ticking import ticking

import saltus as sl

G, E, H0 = 9.8, 0.9, 10.0
TIMES = np.arange(0.1, 4.0, 0.1)
LINE = "model Line parameter Real a = 1, b = 0; Real y = a + b*time; Real x(start = 0, fixed = true); " \
       "equation der(x) = b; end Line;"
LORENZ = """
model Lorenz
  parameter Real rho = 28, sigma = 10;
  Real x(start = 1, fixed = true), y(start = 2, fixed = true), z(start = 20, fixed = true);
equation
  der(x) = sigma*(y - x);
  der(y) = x*(rho - z) - y;
  der(z) = x*y - 8/3*z;
end Lorenz;
"""


def heights(e: float = 0.8) -> np.ndarray:
    """Of the ball that bounces, exactly, for the first two flights."""
    first = math.sqrt(2 * H0 / G)
    flight = TIMES - first
    return np.where(TIMES < first, H0 - G * TIMES**2 / 2, e * G * first * flight - G * flight**2 / 2)


def noisy_line() -> tuple[np.ndarray, np.ndarray]:
    t = np.linspace(0.0, 3.0, 40)
    return t, 2.0 - 0.5 * t + np.random.default_rng(1).normal(0.0, 0.1, t.size)


@pytest.fixture(scope="module")
def line() -> sl.Fit:
    return sl.fit(sl.loads(LINE), {"y": noisy_line()}, ["a", "b"])


def test_exact_data_give_the_parameters_back():
    few = TIMES < 3.5  # the second flight ends at 3.71
    found = sl.fit(ball(), {"h": (TIMES[few], heights()[few])}, {"e": (0.6, 0, 1), "h.start": 9.0})
    assert found.status == "converged" and found.ok and found.message == "" and found.notes == []
    assert found["e"] == pytest.approx(0.8, abs=1e-9) and found.values["h.start"] == pytest.approx(10.0, abs=1e-8)
    assert found.solution(1.0, "h") == pytest.approx(H0 - G / 2, abs=1e-7)
    again = sl.simulate(ball(), values=found.values, stop=1.0)
    assert again(0.0, "h") == found["h.start"], "what a fit gives can be simulated"


def test_it_is_the_regression_line_with_its_errors_and_correlations(line):
    t, y = noisy_line()
    matrix = np.stack([np.ones_like(t), t], axis=1)
    best, squares, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    covariance = squares[0] / (len(t) - 2) * np.linalg.inv(matrix.T @ matrix)
    assert list(line.values.values()) == pytest.approx(best, abs=1e-9)
    assert list(line.errors.values()) == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
    correlation = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    assert line.correlations == pytest.approx(np.array([[1.0, correlation], [correlation, 1.0]]), abs=1e-6)
    assert line.sum_of_squares == pytest.approx(squares[0], rel=1e-8) and line.degrees_of_freedom == 38
    assert line.deviation == pytest.approx(math.sqrt(squares[0] / 38), rel=1e-8)
    assert line.residuals["modelled"] == pytest.approx(matrix @ best, abs=1e-8)
    assert (line.residuals["measured"] == y).all() and set(line.residuals["label"]) == {"y"}


def test_sigmas_weigh_the_values():
    t, y = noisy_line()
    sigma = 0.05 + 0.1 * t
    best = np.linalg.lstsq(np.stack([np.ones_like(t), t], axis=1) / sigma[:, None], y / sigma, rcond=None)[0]
    for data, given in (({"y": (t, y, sigma)}, None), ({"y": (t, y)}, {"y": sigma})):
        found = sl.fit(sl.loads(LINE), data, ["a", "b"], sigma=given)
        assert list(found.values.values()) == pytest.approx(best, abs=1e-9) and found.deviation is None
    known = sl.fit(sl.loads(LINE), {"y": (t, y)}, ["a"], values={"b": -0.5}, sigma=0.1)
    assert known.errors["a"] == pytest.approx(0.1 / math.sqrt(40), rel=1e-8)


def test_data_may_be_expressions_and_have_other_names():
    t, y = noisy_line()
    plain = sl.fit(sl.loads(LINE), {"y": (t, y)}, ["a", "b"]).values
    for data, measure in (({"a + x": (t, y)}, None), ({"camera": (t, y)}, {"camera": "y"}),
                          ({"camera": (t, 2 * y)}, {"camera": "2*y"})):
        assert sl.fit(sl.loads(LINE), data, ["a", "b"], measure=measure).values == pytest.approx(plain, abs=1e-8)


def test_tables_of_pandas_and_files_of_csv(tmp_path):
    pandas = need("pandas")
    t, y = noisy_line()
    y = np.where(np.arange(t.size) == 7, np.nan, y)  # a missing value
    table = pandas.DataFrame({"y": y, "sigma(y)": 0.1 + 0 * t}, index=t)
    found = sl.fit(sl.loads(LINE), table, ["a", "b"])
    assert len(found.residuals) == 39 and found.deviation is None
    table.to_csv(tmp_path / "line.csv", index_label="time")
    assert sl.fit(sl.loads(LINE), tmp_path / "line.csv", ["a", "b"]).values == found.values
    one = sl.fit(sl.loads(LINE), {"y": pandas.Series(y, index=t)}, ["a", "b"])
    assert one.values == pytest.approx(found.values, abs=1e-9)
    assert list(found.to_pandas().columns) == ["label", "variable", "t", "measured", "modelled", "weighted"]


def test_times_of_events_are_data(tmp_path):
    # the bounces: t1 = sqrt(2 h0/g), t2 = t1 (1 + 2 e)
    h0, e = 5.0, 0.7
    first = math.sqrt(2 * h0 / G)
    times = first * np.array([1.0, 1 + 2 * e, 1 + 2 * e + 2 * e * e])
    found = sl.fit(ball(), None, {"e": 0.8, "h.start": 6.0}, events={"when h < 0": times}, sigma=0.001)
    assert found.values == pytest.approx({"e": e, "h.start": h0}, abs=1e-8)
    assert (found.residuals["variable"] == "").all() and found.residuals["t"] == pytest.approx(times)
    (tmp_path / "times.csv").write_text("when h < 0\n" + "\n".join(map(repr, map(float, times))))
    read = sl.fit(ball(), None, {"e": 0.8, "h.start": 6.0}, events=tmp_path / "times.csv")
    assert read.values == pytest.approx({"e": e, "h.start": h0}, abs=1e-8)
    both = sl.fit(ball(), {"v": ([0.5], [-0.5 * G])}, {"e": 0.8, "h.start": 6.0}, events={"when h < 0": times},
                  sigma={"v": 0.1, "when h < 0": 0.01})
    assert both.values == pytest.approx({"e": e, "h.start": h0}, abs=1e-8) and len(both.residuals) == 4


def test_a_parameter_at_its_bound():
    t, y = noisy_line()
    found = sl.fit(sl.loads(LINE), {"y": (t, y)}, {"a": (1.0, None, 1.5), "b": None})
    assert found.status == "at_bound" and found.ok and found["a"] == 1.5
    a, b = found.parameters
    assert a.at_bound and math.isnan(a.error) and a.upper == 1.5 and a.lower == -math.inf and "at its bound" in str(a)
    assert not b.at_bound and b.error > 0.0


def test_what_the_data_cannot_say_raises_and_keeps_the_result():
    text = "model Decay parameter Real k = 1, share = 0.5; Real x(start = 1, fixed = true); " \
           "equation der(x) = -k*share*x; end Decay;"
    data = {"x": ([1.0, 2.0, 3.0], [0.75, 0.54, 0.41])}
    with pytest.raises(sl.SearchError, match="'k' and 'share' can be changed together") as info:
        sl.fit(sl.loads(text), data, ["k", "share"])
    assert info.value.status == "undetermined" and info.value.result.parameters[0].undetermined
    assert pickle.loads(pickle.dumps(info.value)).result.status == "undetermined"
    assert not sl.fit(sl.loads(text), data, ["k", "share"], check=False).ok


def test_windows_keep_a_chaotic_record_in_step():
    model, times = sl.loads(LORENZ), np.linspace(0.05, 10.0, 200)
    truth = sl.simulate(model, stop=10.0, rtol=1e-10)(times)
    noise = np.random.default_rng(3).normal(0.0, 0.1, truth.shape)
    data = {name: (times, row) for name, row in zip("xyz", truth + noise)}
    guess = {"rho": 25.0, "sigma": 8.0}
    alone = sl.fit(model, data, guess, check=False)
    assert alone.deviation is None or alone.deviation > 1.0, "a single run ends elsewhere"
    found = sl.fit(model, data, guess, windows=25)
    assert abs(found["rho"] - 28.0) < 3 * found.errors["rho"] and abs(found["sigma"] - 10.0) < 3 * found.errors["sigma"]
    assert found.deviation == pytest.approx(0.1, abs=0.01)


def test_texts(line):
    assert repr(line).startswith("<Fit of 'Line': converged, a = ") and " ± " in repr(line)
    text = str(line)
    assert "standard error" in text and "correlations" in text and "40 values, 38 degrees of freedom" in text
    with pytest.raises(KeyError, match="did you mean 'a'"):
        line["aa"]


def test_a_fit_pickles_with_its_run(line):
    again = pickle.loads(pickle.dumps(line))
    assert again.values == line.values and (again.residuals == line.residuals).all() and str(again) == str(line)
    assert again.solution(1.0, "y") == pytest.approx(line.solution(1.0, "y"), abs=1e-12)


def test_plots_show_data_and_model(line):
    plt = need_pyplot()
    t, y = noisy_line()
    (panel,) = line.plot()
    assert panel.get_ylabel() == "y" and [artist.get_label() for artist in panel.lines] == ["model", "data"]
    assert (panel.lines[1].get_ydata() == y).all()
    assert panel.lines[0].get_ydata()[-1] == pytest.approx(line["a"] + 3 * line["b"])
    first = math.sqrt(2 * H0 / G)
    heard = sl.fit(ball(), {"h": ([0.5], [H0 - G / 8])}, ["e"], events={"when h < 0": [first, first * 2.6]})
    (panel,) = heard.plot(axes=plt.subplots()[1].figure.axes)
    assert [artist.get_xdata()[0] for artist in panel.lines[2:]] == pytest.approx([first, first * 2.6])
    assert max(panel.lines[0].get_xdata()) <= first * 2.6
    with pytest.raises(ValueError, match="1 series need as many axes, not 2"):
        line.plot(axes=plt.subplots(2)[1])
    plt.close("all")


@pytest.mark.parametrize("call, text", [
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2])}, []), "say which parameters"),
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2])}, {"a": (1, 2)}), "'a' must have a guess, or"),
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2])}, {"a": (5, 0, 1)}), "guess 5 of 'a' lies outside"),
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2, 3])}, ["a"]), "'y' has 2 times and 3 values"),
    (lambda m: sl.fit(m, {"y": [1, 2, 3, 4]}, ["a"]), "must be \\(times, values\\)"),
    (lambda m: sl.fit(m, {"yy": ([0, 1], [1, 2])}, ["a"]), "there is no 'yy' in the model.*did you mean 'y'"),
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2])}, ["a"], sigma={"z": 1}), "'z' was not measured"),
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2])}, ["a"], measure={"z": "y"}), "'z' is not among the data"),
    (lambda m: sl.fit(m, "no such file.csv", ["a"]), "no such file.csv"),
    (lambda m: sl.fit(m, None, ["a"]), "no measured values"),
    (lambda m: sl.fit(m, {"y": ([0, 1], [1, 2])}, ["a"], sigma=-1), "must be positive")])
def test_wrong_data_say_what_is_wrong(call, text):
    with pytest.raises(sl.UsageError, match=text):
        call(sl.loads(LINE))


def test_wrong_types_say_what_is_right():
    model, data = sl.loads(LINE), {"y": ([0, 1], [1, 2])}
    with pytest.raises(TypeError, match="for example \\['a'\\]"):
        sl.fit(model, data, "a")
    with pytest.raises(TypeError, match="data are a mapping"):
        sl.fit(model, [1, 2, 3], ["a"])
    with pytest.raises(TypeError, match="events are a mapping"):
        sl.fit(model, data, ["a"], events=[1, 2])
    with pytest.raises(TypeError, match="a run ends where the data end"):
        sl.fit(model, data, ["a"], stop=3.0)
    with pytest.raises(TypeError, match="no option 'tol'"):
        sl.fit(model, data, ["a"], tol=3.0)
    with pytest.raises(TypeError, match="needs a Model"):
        sl.fit(model.compile(), data, ["a"])


def test_other_threads_go_on_and_ctrl_c_ends_a_fit():
    slow = """model Slow
      parameter Real p = 1, q = 1;
      Real x(start = 0, fixed = true);
    equation
      der(x) = q*cos(300*p*time) - 0.01*x;
    end Slow;"""
    times = np.linspace(1.0, 2000.0, 200)
    data = {"x": (times, np.sin(times))}  # a run has a million steps
    with ticking() as ticks, interrupted():
        sl.fit(sl.loads(slow), data, ["p", "q"], check=False)
    assert len(ticks) > 10
